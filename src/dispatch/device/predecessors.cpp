// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/predecessors.hpp"

#include <utility>

#include "dispatch/lane/lane_layout.hpp"
#include "dispatch/recording/replayed_part.hpp"

namespace flotilla::dispatch {

task_key predecessors::key_of(slot_address task, std::size_t i) const noexcept {
  slot const& one = shared_.tasks.at(task);
  if (i < slot::inline_dependencies) { return {one.after_slot[i], one.after_generation[i]}; }
  return shared_.tasks.side(task).more_dependencies[i - slot::inline_dependencies];
}

resolution predecessors::resolve(slot_address task, bool may_join, std::vector<end_mark>& waits) {
  using kinds = resolution::kinds;
  using states = task_state::states;
  waits.clear();
  resolution found{kinds::ready};
  slot& one = shared_.tasks.at(task);
  std::uint32_t const order_only =
      one.kind == task_kind::recorded ? held_in<replayed_part>(one).order_only : 0;
  for (std::size_t i = 0; i < one.dependencies; ++i) {
    task_key const key = key_of(task, i);
    task_state state = shared_.order.look(key);
    while (state.state == states::open) {
      // A poisoned driver launches no tasks. Every open task counts as ended, so do not park this
      // task.
      if (shared_.faults.is_poisoned()) { return {kinds::stopped}; }
      // relaxed: only this thread writes marks of this device, and other marks do not matter here
      std::uint32_t const mark = shared_.tasks.at(key.slot).batched.load(std::memory_order_relaxed);
      if (batch_mark::is_on(mark, device_)) {
        // The predecessor is in an open batch, which is launched before this pass ends. The task
        // can join only one open batch. Other open batches must be launched first.
        unsigned const lane = batch_mark::lane(mark);
        bool const joins = may_join && (found.lane == lane_layout::no_lane || found.lane == lane);
        if (!joins) { return {kinds::flush_first, lane}; }
        found.lane = lane;
        break;
      }
      if (shared_.order.park(task, key)) { return {kinds::stopped}; }
      state = shared_.order.look(key);  // launched or ended between `look` and `park`
    }
    if (state.state == states::failed && i >= order_only) {
      return {kinds::failed, lane_layout::no_lane, std::move(state.why)};
    }
    if (state.state == states::launched) { waits.push_back(state.end); }
  }
  return found;
}

}  // namespace flotilla::dispatch
