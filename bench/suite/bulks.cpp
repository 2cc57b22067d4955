// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does an item of a bulk cost, until the ticket is ready, and in the call alone?
// Controls: a loop of submits; the relaunched graph of floods.cpp, which is the limit of the device
//           for kernels.
//
// The calls alone are measured in bursts while no thread drains, as in submits.cpp.

#include <algorithm>
#include <tuple>

#include <flotilla/task/bulk.hpp>

#include "bench_suite.hpp"
#include "burst.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

constexpr std::int64_t items = 10'000;

ticket submit_nothing(runtime_fixture& fixture, kernel<> const& nothing, std::int64_t count,
                      task_options const& options = {}) {
  return fixture.rt.submit(
      bulk(nothing.with_shape({1}, {32}), count, [](std::size_t) { return std::tuple{}; }),
      options);
}

}  // namespace

void add_bulks(bench_suite& suite) {
  std::int64_t const rounds = std::max<std::int64_t>(1, suite.amount().flood / items);
  suite.measure("flotilla, a bulk", {.who = "flotilla, a bulk", .what = "bulk", .backlog = items},
                [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({});
                  kernel<> const nothing = fixture.kernels.kernel<>("null_kernel");
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < rounds; ++i) {
                    submit_nothing(fixture, nothing, items).wait();
                  }
                  return ns_each(start, rounds * items);
                });
  suite.measure("flotilla, a loop of submits",
                {.who = "flotilla", .what = "bulk", .backlog = items}, [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({});
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < rounds; ++i) {
                    for (std::int64_t k = 0; k < items; ++k) {
                      static_cast<void>(fixture.rt.submit(fixture.null_launch));
                    }
                    fixture.rt.wait_idle();
                  }
                  return ns_each(start, rounds * items);
                });
  suite.measure(
      "flotilla, the submit of a bulk alone",
      {.who = "flotilla, a bulk", .what = "submit", .backlog = burst}, [=](figure&) {
        auto& fixture = get_fixture<runtime_fixture>({.workers = 0});
        kernel<> const nothing = fixture.kernels.kernel<>("null_kernel");
        std::int64_t const bursts = std::max<std::int64_t>(1, suite.amount().raw / burst);
        double seconds = 0;
        for (std::int64_t i = 0; i < bursts; ++i) {
          auto const start = clock::now();
          static_cast<void>(submit_nothing(fixture, nothing, burst, {.device = device_ordinal{0}}));
          seconds += seconds_since(start);
          fixture.rt.wait_idle();
        }
        return seconds * 1e9 / static_cast<double>(bursts * burst);
      });
  suite.compare({.id = "bulk",
                 .subject = "flotilla, a bulk",
                 .control = "a loop of submits",
                 .controls = {"flotilla, a loop of submits"}});
  suite.compare({.id = "bulk",
                 .subject = "flotilla, a bulk",
                 .control = "relaunched graph of 64 chains",
                 .controls = {"relaunched graph of 64 chains"},
                 .max_ratio = 0.1});
  suite.compare({.id = "bulk_submit",
                 .subject = "flotilla, the submit of a bulk alone",
                 .control = "submit alone",
                 .controls = {"flotilla, submit alone"}});
  suite.compare({.id = "submit_many",
                 .subject = "flotilla, the submit of a bulk alone",
                 .control = "submit alone",
                 .controls = {"flotilla, submit alone"},
                 .max_value = 12});
}

}  // namespace flotilla::bench
