// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/deadlock_detector.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <flotilla/error/error.hpp>

#include "dispatch/task/callable_frame.hpp"
#include "dispatch/task/host_task_frame.hpp"

namespace flotilla::dispatch {

void deadlock_detector::publish(target what) noexcept {
  for (auto const* frame = callable_frame::innermost(shared_.id); frame != nullptr;
       frame = frame->next()) {
    wait_targets_[frame->device()].what.store(what, std::memory_order_seq_cst);
  }
}

void deadlock_detector::check_wait_for_task(task_id id) {
  target const what = task_target(id);
  if (is_resolved(what)) { return clear(); }
  publish(what);
  refuse_ring(what);
}

void deadlock_detector::check_wait_for_lease(unsigned device) {
  publish(lease_target(device));
  refuse_ring(lease_target(device));
}

bool deadlock_detector::is_resolved(target what) const {
  if (!is_task(what)) { return what == nothing; }
  task_state const state =
      shared_.order.look({static_cast<slot_address>(what), static_cast<std::uint32_t>(what >> 32)});
  return state.state != task_state::states::open;
}

bool deadlock_detector::waits_for_host_thread(slot_address task) const noexcept {
  return shared_.tasks.at(task).parked_on.load(std::memory_order_relaxed) == slot::parked_as_host;
}

bool deadlock_detector::waits_for_this_thread(slot_address root) const noexcept {
  return host_task_frame::runs_here(shared_.id, root);
}

void deadlock_detector::refuse_wait_for_this_thread() {
  throw would_deadlock(
      "a host task would wait forever, because it waits for itself or for a task after it; instead "
      "of waiting, submit the remaining work with `after` or use `then`");
}

void deadlock_detector::check_wait_in_continuation(task_id id) const {
  if (is_resolved(task_target(id))) { return; }
  if (!waits_for_host_thread(shared_.order.propagate_demand(id.slot))) { return; }
  throw would_deadlock(
      "a continuation or host task would wait forever for a host task: in single-threaded mode, "
      "host tasks run one after the other; instead of waiting, submit the remaining work with "
      "`after` or use `then`");
}

void deadlock_detector::refuse_ring(target mine) {
  // The set of devices that can make progress. A device can make progress in three cases: its lease
  // is free, another thread holds its lease and does not wait, or the holder of its lease waits for
  // a task or lease of a device that can make progress. The loop below adds devices until it finds
  // no more.
  std::vector<bool> can_go_on(devices_.size(), false);
  auto const will_come = [&](target what) -> bool {
    if (is_resolved(what)) { return true; }
    if (!is_task(what)) { return can_go_on[what - 1]; }
    slot_address const root = shared_.order.propagate_demand(static_cast<slot_address>(what));
    if (waits_for_this_thread(root)) { return false; }
    if (waits_for_host_thread(root)) { return !shared_.single_threaded; }
    std::uint32_t const device = shared_.tasks.at(root).device.load(std::memory_order_relaxed);
    if (device != 0) { return can_go_on[device - 1]; }
    return std::find(can_go_on.begin(), can_go_on.end(), true) != can_go_on.end();  // any device
  };
  for (bool added = true; added;) {
    added = false;
    for (unsigned i = 0; i < devices_.size(); ++i) {
      context::lease_gate const& gate = devices_[i].gate();
      if (can_go_on[i] || gate.held_by_this_thread()) { continue; }
      if (!gate.held() || will_come(wait_targets_[i].what.load(std::memory_order_seq_cst))) {
        can_go_on[i] = true;
        added = true;
      }
    }
  }
  if (will_come(mine)) { return; }
  clear();
  unsigned const device = callable_frame::innermost(shared_.id)->device();
  std::string const what =
      is_task(mine) ? "a task" : "the lease of device " + std::to_string(mine - 1);
  throw would_deadlock("a callable on device " + std::to_string(device) +
                       " would wait forever for " + what +
                       ": the wait can end only after the callable has ended; instead of waiting, "
                       "submit the remaining work with `after` or use `then`");
}

}  // namespace flotilla::dispatch
