// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how long does a lone task take, from submit until the submitting thread sees its end?
//           Also measured for eight tasks at once, and while a large copy to pageable memory runs.
// Controls: the same number of launches and one cuStreamSynchronize, which spins. The control for
//           the task during the copy is the lone task without the copy.

#include <array>
#include <optional>

#include <flotilla/settings/settings.hpp>

#include "bench_suite.hpp"
#include "lone_timing.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

runtime_fixture::options const spinning{.workers = 1, .schedule = wait_policy::spin};

void run_lone_task(runtime_fixture& fixture) {
  fixture.rt.submit(fixture.null_launch, {.device = device_ordinal{0}}).wait();
}

double time_beside_copy(figure& result, std::size_t bytes, std::size_t max_tasks) {
  auto& fixture = get_fixture<runtime_fixture>(spinning);
  device_buffer<std::byte> from{fixture.rt, device_ordinal{0}, bytes};
  std::vector<std::byte> to(bytes);  // zero-initialized, so that its pages exist before the copy
  std::size_t const before = result.samples.size();
  result.samples.reserve(before + max_tasks);
  // Repeat the attempt if the copy ended before the operating system let this thread run.
  for (int tries = 0; tries < 10 && result.samples.size() == before; ++tries) {
    ticket const copy = fixture.rt.submit(from.copy_to(std::span<std::byte>{to}));
    while (!copy.ready() && result.samples.size() < before + max_tasks) {
      time_one(result, [&] { run_lone_task(fixture); });
    }
    copy.wait();
  }
  if (result.samples.size() == before) {
    throw not_available{"the copy ended before a task was submitted, in 10 attempts"};
  }
  return median_since(result, before);
}

void add_lone(bench_suite& suite) {
  std::int64_t const times = suite.amount().lone;
  for (int const workers : {0, 1}) {
    bool const alone = workers == 0;
    suite.measure(
        alone ? "flotilla, lone task, no workers" : "flotilla, lone task",
        {.who = alone ? "flotilla, no workers" : "flotilla", .what = "lone", .backlog = 1},
        [=](figure& result) {
          auto& fixture =
              get_fixture<runtime_fixture>({.workers = workers, .schedule = wait_policy::spin});
          return time_each(result, times, [&] { run_lone_task(fixture); });
        });
  }
  std::size_t const bytes = suite.amount().copy_bytes;
  suite.measure("flotilla, lone task beside a copy",
                {.who = "flotilla, a copy beside", .what = "lone", .backlog = 1},
                [=](figure& result) { return time_beside_copy(result, bytes, 100'000); });
  suite.measure("raw launch and synchronize",
                {.who = "raw launch and synchronize", .what = "lone", .backlog = 1},
                [=](figure& result) {
                  auto& plain = get_fixture<plain_driver>({.schedule = wait_policy::spin});
                  plain_driver::launch_target const& target = plain.targets(0).front();
                  plain.push(target);
                  double const ns = time_each(result, times, [&] {
                    plain.launch(target);
                    plain.synchronize(target);
                  });
                  plain.pop();
                  return ns;
                });
  for (statistic const of : {statistic::p50, statistic::p99}) {
    suite.compare({.id = "lone_spin",
                   .subject = "flotilla, lone task",
                   .of = of,
                   .control = "launch + cuStreamSynchronize, spin",
                   .controls = {"raw launch and synchronize"},
                   .max_ratio = 1});
  }
  suite.compare({.id = "copy_beside",
                 .subject = "flotilla, lone task beside a copy",
                 .of = statistic::p99,
                 .control = "lone_spin",
                 .controls = {"flotilla, lone task"},
                 .max_ratio = 2});
}

void add_eight(bench_suite& suite) {
  constexpr int tasks = 8;
  std::int64_t const times = suite.amount().lone;
  suite.measure("flotilla, eight tasks", {.who = "flotilla", .what = "eight", .backlog = tasks},
                [=](figure& result) {
                  auto& fixture = get_fixture<runtime_fixture>(spinning);
                  std::array<ticket, tasks> open;
                  return time_each(result, times, [&] {
                    for (ticket& each : open) {
                      each = fixture.rt.submit(fixture.null_launch, {.device = device_ordinal{0}});
                    }
                    for (ticket const& each : open) { each.wait(); }
                  });
                });
  suite.measure("eight raw launches and synchronize",
                {.who = "raw launches and synchronize", .what = "eight", .backlog = tasks},
                [=](figure& result) {
                  auto& plain = get_fixture<plain_driver>({.schedule = wait_policy::spin});
                  plain_driver::launch_target const& target = plain.targets(0).front();
                  plain.push(target);
                  double const ns = time_each(result, times, [&] {
                    for (int i = 0; i < tasks; ++i) { plain.launch(target); }
                    plain.synchronize(target);
                  });
                  plain.pop();
                  return ns;
                });
  suite.compare({.id = "eight",
                 .subject = "flotilla, eight tasks",
                 .of = statistic::p50,
                 .control = "8 launches + cuStreamSynchronize",
                 .controls = {"eight raw launches and synchronize"},
                 .max_ratio = 0.6});
}

}  // namespace

void add_lone_tasks(bench_suite& suite) {
  add_lone(suite);
  add_eight(suite);
}

}  // namespace flotilla::bench
