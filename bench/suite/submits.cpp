// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a submit cost the submitting thread?
// Control:  cuLaunchKernel.
//
// The calls are measured in bursts. A burst fits into flotilla's window and into the queue of the
// driver. The runtime has no workers, so no thread drains during a burst. The driver, however,
// starts to run the kernels during the burst.

#include <algorithm>

#include "bench_suite.hpp"
#include "burst.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

void add_submits(bench_suite& suite) {
  std::int64_t const bursts = std::max<std::int64_t>(1, suite.amount().raw / burst);
  suite.measure("flotilla, submit alone", {.who = "flotilla", .what = "submit", .backlog = burst},
                [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({.workers = 0});
                  return time_bursts(
                      bursts,
                      [&] {
                        static_cast<void>(
                            fixture.rt.submit(fixture.null_launch, {.device = device_ordinal{0}}));
                      },
                      [&] { fixture.rt.wait_idle(); });
                });
  suite.measure("raw launches, the call alone",
                {.who = "raw launches", .what = "submit", .backlog = burst}, [=](figure&) {
                  auto& plain = get_fixture<plain_driver>({});
                  plain_driver::launch_target const& target = plain.targets(0).front();
                  plain.push(target);
                  double const ns = time_bursts(
                      bursts, [&] { plain.launch(target); }, [&] { plain.synchronize(target); });
                  plain.pop();
                  return ns;
                });
  suite.compare({.id = "submit",
                 .subject = "flotilla, submit alone",
                 .control = "cuLaunchKernel alone",
                 .controls = {"raw launches, the call alone"},
                 .max_value = 60});
  suite.compare({.id = "submit_one",
                 .subject = "flotilla, submit alone",
                 .control = "cuLaunchKernel alone",
                 .controls = {"raw launches, the call alone"},
                 .max_value = 35});
}

}  // namespace flotilla::bench
