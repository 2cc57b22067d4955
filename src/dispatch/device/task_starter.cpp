// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/task_starter.hpp"

#include <algorithm>
#include <bit>

namespace flotilla::dispatch {

void task_starter::start_all(std::span<slot_address const> tasks) {
  constexpr std::size_t prefetched = 16;  // tasks
  task_table const& table = parts_.shared.tasks;
  for (slot_address const task : tasks.first(std::min(prefetched, tasks.size()))) {
    table.prefetch(task);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + prefetched < tasks.size()) { table.prefetch(tasks[i + prefetched]); }
    start(tasks[i]);
  }
}

void task_starter::start_followers() {
  std::vector<slot_address>& runnable = parts_.batches.runnable();
  while (!alone_.empty() || !runnable.empty()) {
    std::vector<slot_address>& next = alone_.empty() ? runnable : alone_;
    slot_address const task = next.back();
    next.pop_back();
    start_one(task, &next == &alone_);
  }
}

void task_starter::start_one(slot_address task, bool alone) {
  slot const& one = parts_.shared.tasks.at(task);
  if (!alone && parts_.batches.fits_open_batch(one)) {
    if (parts_.batches.append(task, one.level)) { flush(parts_.batches.filling(one.level)); }
    return;
  }
  bool const is_launch = one.kind == task_kind::launch;
  while (true) {
    resolution const before = parts_.before.resolve(task, is_launch && !alone, waits_);
    switch (before.kind) {
      case resolution::kinds::stopped: return;
      case resolution::kinds::failed: return parts_.reporter.fail_dependent(task, before.cause);
      case resolution::kinds::flush_first: flush(before.lane); continue;
      case resolution::kinds::ready: break;
    }
    if (!is_launch) { return start_other(task); }
    if (start_launch(task, before.lane, alone)) { return; }
  }
}

void task_starter::start_other(slot_address task) {
  switch (parts_.shared.tasks.at(task).kind) {
    case task_kind::memory_op:
      if (!parts_.copies.start(task, waits_)) { wait_for_room(task); }
      break;
    case task_kind::recorded:
      if (!parts_.replays.start(task, waits_)) { wait_for_room(task); }
      break;
    case task_kind::event_wait: parts_.events.add(task, waits_); break;
    default: parts_.callables.add(task); break;  // runs after the launches of this pass
  }
}

bool task_starter::start_launch(slot_address task, unsigned joins, bool alone) {
  using kinds = batcher::step::kinds;
  slot const& one = parts_.shared.tasks.at(task);
  if (joins != lane_layout::no_lane) {
    // A task that must also wait for marks does not join the batch, because the whole batch would
    // have to wait for them.
    batcher::step const step =
        waits_.empty() ? parts_.batches.follow(task, joins) : batcher::step{kinds::flush_first};
    if (step.kind == kinds::flush_first) {
      flush(joins);
      return false;
    }
    do_step(task, step);
    return true;
  }
  if (!parts_.lanes.has_room(one.level)) {
    wait_for_room(task);
    return true;
  }
  alone = alone || parts_.batches.goes_alone(one);
  end_mark device_wait{};
  if (!alone && !waits_.empty()) {
    if (parts_.device_waits.should_keep(one, waits_, waiting_.at(0).size())) {
      kept_ = true;
      wait_for_room(task);
      return true;
    }
    device_wait = parts_.device_waits.choose(waits_, parts_.batches.profile_of(one.kernel));
  }
  batcher::step step = parts_.batches.add(task, waits_, device_wait, alone);
  while (step.kind == kinds::flush_first) {
    flush(step.lane);
    step = parts_.batches.add(task, waits_, device_wait, alone);
  }
  do_step(task, step);
  return true;
}

void task_starter::do_step(slot_address task, batcher::step const& step) {
  using kinds = batcher::step::kinds;
  switch (step.kind) {
    case kinds::full: flush(step.lane); break;
    case kinds::alone:
      outcome_.clear();
      parts_.batches.launch_alone(task, step.lane, outcome_);
      finish_flush();
      break;
    case kinds::no_room: wait_for_room(task); break;
    case kinds::refused: parts_.reporter.refuse(task, step.why); break;
    default: break;
  }
}

void task_starter::flush(unsigned lane) {
  outcome_.clear();
  parts_.batches.flush(lane, outcome_);
  finish_flush();
}

void task_starter::finish_flush() {
  for (CUresult const error : outcome_.errors) { parts_.reporter.note(error); }
  for (flush_outcome::refusal const& each : outcome_.refused) {
    parts_.reporter.refuse(each.task, each.why);
  }
  // `start_followers` takes tasks from the back of both lists, so insert the tasks in reverse
  // order.
  alone_.insert(alone_.end(), outcome_.alone.rbegin(), outcome_.alone.rend());
  std::vector<slot_address>& runnable = parts_.batches.runnable();
  runnable.insert(runnable.end(), outcome_.again.rbegin(), outcome_.again.rend());
}

bool task_starter::retry_waiting(priority_level level) {
  bool moved = false;
  priority_queues::queue& queue = waiting_.at(level);
  for (std::size_t left = queue.size(); left > 0 && parts_.lanes.has_room(level); --left) {
    slot_address const task = queue.take_front();
    std::size_t const before = queue.size();
    start(task);
    if (queue.size() > before) { break; }  // queued again: there is no room
    moved = true;
  }
  return moved;
}

void task_starter::flush_urgent() {
  while ((parts_.batches.open_lanes() & lane_layout::urgent_lane_set) != 0) {
    flush(static_cast<unsigned>(std::bit_width(parts_.batches.open_lanes())) - 1);
    start_followers();
  }
}

void task_starter::flush_all() {
  flush_urgent();
  while (parts_.batches.open_lanes() != 0) {
    flush(static_cast<unsigned>(std::countr_zero(parts_.batches.open_lanes())));
    start_followers();
  }
}

}  // namespace flotilla::dispatch
