// Question: what does an empty task cost on a CPU device, beside a GPU or without one?
// Control:  an empty body handed to oneTBB's task_arena::enqueue, as many workers.

#include "fleet.hpp"
#include "suite.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

void add_cpu_device(suite& to) {
  std::int64_t const tasks = to.amount().raw;
  figure_tags tags{.who = "flotilla on a CPU device", .what = "cpu flood", .backlog = tasks};
  to.measure("flotilla on a CPU device, 1 thread", tags, [=](figure&) {
    auto& ships = rig_for<fleet>({.where = "cpu:1"});
    auto const start = clock::now();
    for (std::int64_t i = 0; i < tasks; ++i) { static_cast<void>(ships.rt.submit(ships.null)); }
    ships.rt.wait_idle();
    return ns_each(start, tasks);
  });
  tags.who = "oneTBB enqueue";
  to.measure("oneTBB enqueue, empty body", tags, [=](figure&) {
    auto& tbb = rig_for<tbb_control>({});
    auto const start = clock::now();
    tbb.enqueue(tasks);
    tbb.wait_for_enqueued();
    return ns_each(start, tasks);
  });
  to.compare({.id = "cpu_empty_1p",
              .subject = "flotilla on a CPU device, 1 thread",
              .control = "oneTBB task_arena::enqueue",
              .controls = {"oneTBB enqueue, empty body"},
              .most_ratio = 0.75,
              .for_gpus = false});
}

}  // namespace flotilla::bench
