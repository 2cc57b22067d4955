// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does an empty task cost on a CPU device?
// Control:  an empty body through oneTBB's task_arena::enqueue, with the same number of workers.

#include "bench_suite.hpp"
#include "runtime_fixture.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

void add_cpu_device(bench_suite& suite) {
  std::int64_t const tasks = suite.amount().raw;
  figure_tags tags{.who = "flotilla on a CPU device", .what = "cpu flood", .backlog = tasks};
  suite.measure("flotilla on a CPU device, 1 thread", tags, [=](figure&) {
    auto& fixture = get_fixture<runtime_fixture>({.device_spec = "cpu:1"});
    auto const start = clock::now();
    for (std::int64_t i = 0; i < tasks; ++i) {
      static_cast<void>(fixture.rt.submit(fixture.null_launch));
    }
    fixture.rt.wait_idle();
    return ns_each(start, tasks);
  });
  tags.who = "oneTBB enqueue";
  suite.measure("oneTBB enqueue, empty body", tags, [=](figure&) {
    auto& tbb = get_fixture<tbb_control>({});
    auto const start = clock::now();
    tbb.enqueue(tasks);
    tbb.wait_for_enqueued();
    return ns_each(start, tasks);
  });
  suite.compare({.id = "cpu_empty_1p",
                 .subject = "flotilla on a CPU device, 1 thread",
                 .control = "oneTBB task_arena::enqueue",
                 .controls = {"oneTBB enqueue, empty body"},
                 .max_ratio = 0.75,
                 .for_gpus = false});
  suite.compare({.id = "cpu_flood",
                 .subject = "flotilla on a CPU device, 1 thread",
                 .control = "oneTBB task_arena::enqueue",
                 .controls = {"oneTBB enqueue, empty body"},
                 .max_ratio = 0.5,
                 .for_gpus = false});
}

}  // namespace flotilla::bench
