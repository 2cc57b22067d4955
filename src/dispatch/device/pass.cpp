// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A pass: one bounded round of work for a device. The holder of the device's lease executes it.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

#include "base/pause.hpp"
#include "dispatch/device/device_driver.hpp"
#include "dispatch/device/device_set.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A drain ends after `max_drain_beside_others` if other work waits, else after `max_drain`. Shorter
// limits would reduce the throughput, because each move of a device to another thread costs about
// 40 us of cache misses.
constexpr microseconds max_drain_beside_others{100};
constexpr microseconds max_drain{1000};
constexpr microseconds max_hop_wait{10};
constexpr int polls_between_checks = 8;

/// Calls `action` and returns its result. If `action` throws std::bad_alloc, poisons the runtime
/// and returns false.
template <class Action>
bool poison_if_out_of_memory(fault_monitor& faults, Action const& action) {
  try {
    return action();
  } catch (std::bad_alloc const&) {
    // `action` may have lost tasks that it had taken from a queue. Threads that wait for these
    // tasks would wait forever if the runtime were not poisoned.
    faults.note_out_of_memory();
    return false;
  }
}

}  // namespace

bool device_driver::drain(context::lease& lease, helper_filter filter, stop_predicate const& stop) {
  // If there is no new work, only end the tasks of completed batches. This needs no current
  // context, so skip the push and pop of the context.
  if (!parts_.inbound.needs_drain() && !parts_.shared.shared.is_pending() &&
      parts_.shared.reclaimer.empty()) {
    return retire();
  }
  return poison_if_out_of_memory(parts_.shared.faults,
                                 [&] { return run_passes(lease, filter, stop); });
}

bool device_driver::run_passes(context::lease& lease, helper_filter filter,
                               stop_predicate const& stop) {
  bool moved = false;
  if (!replace_if_lost()) [[unlikely]] { return false; }
  if (containment_.is_quarantined()) [[unlikely]] {
    return fail_all(parts_.shared.lost.failure_of(parts_.index));
  }
  try {
    joint_pass::drain const drain{joint_};
    auto const begun = clock::now();
    bool const was_traced = parts_.shared.trace.active();
    while (true) {
      bool const passed = pass(filter, stop);
      moved = moved || passed;
      if (containment_.is_due()) [[unlikely]] {  // the next drain replaces the device
        parts_.inbound.set_backlog(true);
        break;
      }
      if (!passed && !expect_next_hop(lease, stop)) { break; }
      auto const elapsed = clock::now() - begun;
      if (joint_.must_yield() || lease.wanted() || (stop && stop()) || elapsed > max_drain) {
        break;
      }
      bool const others_wait = !staged_.empty() || parts_.devices.other_work_pending(*this);
      if (elapsed > max_drain_beside_others && others_wait) { break; }
    }
    if (was_traced && moved) [[unlikely]] {
      trace_.note_drive(begun);
      trace_.note_counters({.queued = intake_.queued() + starter_.waiting().size(),
                            .in_flight = lanes_.launches_in_flight(),
                            .memory = memory_.held()});
    }
  } catch (driver_error const& why) {
    // The context cannot be made current, so the tasks that wait for this device can never run.
    reporter_.note(static_cast<CUresult>(why.status()));
    if (containment_.is_due()) { return moved; }  // the next drain replaces the device
    if (!parts_.shared.faults.is_poisoned()) {
      moved = fail_all(make_failure(std::current_exception()));
    }
  }
  return moved;
}

bool device_driver::replace_if_lost() {
  if (!containment_.is_due()) [[likely]] { return true; }
  if (parts_.shared.faults.is_poisoned()) {  // no task runs again
    parts_.inbound.set_backlog(false);
    return false;
  }
  parts_.inbound.set_backlog(true);  // the tasks that start again, or the next attempt
  return poison_if_out_of_memory(parts_.shared.faults,
                                 [this] { return containment_.run([this] { end_completed(); }); });
}

bool device_driver::expect_next_hop(context::lease const& lease, stop_predicate const& stop) {
  if (!device_waits_.any() || parts_.shared.single_threaded) { return false; }
  bool const has_kept = starter_.has_kept();
  // The last pass left work that waits for room or completions, not for new tasks. So polling for
  // new tasks would not help.
  if (parts_.inbound.has_backlog() && !has_kept) { return false; }
  auto const until = clock::now() + max_hop_wait;
  while (clock::now() < until) {
    for (int i = 0; i < polls_between_checks; ++i) {
      if (parts_.inbound.is_announced() || joint_.is_announced()) { return true; }
      base::pause();
    }
    if (has_kept && lanes_.any_done()) { return true; }
    if (lease.wanted() || (stop && stop()) || parts_.devices.other_work_pending(*this)) {
      return false;
    }
  }
  return false;
}

bool device_driver::begin_pass() {
  parts_.inbound.begin_pass();
  bool const had_kept = starter_.has_kept();
  starter_.forget_kept();
  device_waits_.begin_pass();
  if (parts_.shared.faults.is_poisoned()) {
    parts_.inbound.set_backlog(false);
    return false;
  }
  // First, so that a task whose deadline has passed does not start in this pass.
  bool moved = parts_.shared.overdue.end_due();
  moved = end_completed() || moved;
  moved = events_.poll() || moved;
  moved = late_.poll() || moved;
  moved = end_waits_.poll([this](slot_address task) { starter_.start(task); }) || moved;
  sampler_.sample();
  // Start held-back tasks before requeued tasks. Otherwise the next tasks of other chains would
  // always overtake the held-back tasks.
  if (had_kept) { moved = starter_.retry_waiting(0) || moved; }
  std::vector<slot_address> const kept = std::exchange(replays_.out_of_turn(), {});
  for (slot_address const task : kept) { starter_.start(task); }
  moved = replays_.out_of_turn().size() < kept.size() || moved;
  moved = intake_.take_requeued() || moved;
  // In a joint pass, joint_pass takes the other tasks, in turn from all devices.
  if (wave_flusher_.is_joint()) {
    moved = intake_.take_urgent() || moved;
    if (batch_lanes_.takes_joint()) { moved = starter_.retry_waiting(0) || moved; }
  } else {
    moved = intake_.take_inboxes() || moved;
  }
  return intake_.pull_shared() || moved;
}

bool device_driver::pass(helper_filter filter, stop_predicate const& stop) {
  bool const is_usable = !parts_.shared.faults.is_poisoned();
  joint_.invite();
  if (joint_.must_yield()) { return end_completed(); }
  bool moved = begin_pass();
  if (!is_usable) { return false; }
  moved = joint_.begin() || moved;
  // One launch takes as long as several submits. So look for tasks that have arrived during this
  // pass, and launch all new tasks together.
  moved = joint_.take_more() || moved;
  joint_.flush_all();
  joint_.end();
  if (reporter_.is_device_lost()) [[unlikely]] { return moved; }
  if (!callables_.empty()) { joint_.leave(); }
  moved = callables_.run(filter, [this](priority_level level) {
    return intake_.has_more_urgent(level);
  }) || moved;
  moved = staged_.progress(stop) || moved;
  if (!parts_.shared.turns.involve(parts_.index)) { frees_.run_in_pass(); }
  end_pass();
  return moved;
}

void device_driver::end_pass() noexcept {
  bool const has_work_left = !starter_.waiting().empty() || !replays_.out_of_turn().empty() ||
                             !callables_.empty() || callables_.has_failures() || !staged_.empty() ||
                             !events_.empty() || !late_.empty() || !end_waits_.empty() ||
                             lanes_.counts().status_batches != 0 || intake_.has_left_some();
  parts_.inbound.set_backlog(has_work_left && !parts_.shared.faults.is_poisoned());
  lanes_.publish_busy();
}

bool device_driver::retire() {
  return poison_if_out_of_memory(parts_.shared.faults, [this] { return end_completed(); });
}

bool device_driver::end_completed() {
  bool moved = false;
  {
    slot_returns returns;
    moved = lanes_.retire([&](lane const& lane, lane::batch const& batch, clock::duration took) {
      end_batch(lane, batch, took, returns);
    });
  }
  // Only now, because an event loop that waits for room in the window needs the slots.
  if (moved) {
    parts_.shared.bell.note_end();
    trace_.end_look();
  }
  return moved;
}

void device_driver::end_batch(lane const& lane, lane::batch const& batch, clock::duration took,
                              slot_returns& returns) {
  std::span<slot_address const> const tasks{batch.tasks.data(), batch.count};
  std::uint32_t shared_tasks = 0;
  if (parts_.shared.trace.active()) [[unlikely]] {
    trace_.note_batch(lane, batch, callables_.has_failures());
  }
  if (batch.exchanges) { replays_.note_end(tasks[0]); }
  if (batch.has_status) {
    shared_tasks = parts_.shared.tasks.is_shared(tasks[0]) ? 1 : 0;
    parts_.shared.ends.end(
        tasks[0], reporter_.failure_of_status(tasks[0], page_.status(lane.index(), batch.number)));
  } else if (batch.is_chunk) {
    parts_.shared.ends.end(tasks[0], nullptr);
  } else if (!callables_.has_failures()) {
    shared_tasks = parts_.shared.ends.end_batch(parts_.index, lane_layout::level_of(lane.index()),
                                                tasks, returns);
  } else {
    for (slot_address const task : tasks) {
      shared_tasks += parts_.shared.tasks.is_shared(task) ? 1 : 0;
      parts_.shared.ends.end(task, callables_.take_failure(task));
    }
  }
  if (batch.waits_on_device) { device_waits_.note_ended(clock::now()); }
  if (batch.carrier != nullptr) { launcher_.give_back(*batch.carrier); }
  grids_.give_back(batch);
  if (shared_tasks != 0) { parts_.shared.shared.share(parts_.index).adapt(took); }
}

bool device_driver::fail_all(std::shared_ptr<failure const> const& why) {
  parts_.inbound.begin_pass();
  end_completed();  // tasks in streams end even if the context cannot be made current
  staged_.fail_all(why);
  events_.fail_all(why);
  std::vector<slot_address> tasks;
  starter_.move_waiting_to(tasks);
  std::ranges::move(std::exchange(replays_.out_of_turn(), {}), std::back_inserter(tasks));
  end_waits_.move_to(tasks);
  callables_.move_to(tasks);
  intake_.take_everything(tasks,
                          parts_.devices.all_retired() || parts_.shared.lost.are_all_quarantined());
  for (slot_address const task : tasks) { reporter_.abandon(task, why); }
  late_.end_all();
  parts_.inbound.set_backlog(!staged_.empty());  // a failed copy may have a piece in flight
  return !tasks.empty();
}

}  // namespace flotilla::dispatch
