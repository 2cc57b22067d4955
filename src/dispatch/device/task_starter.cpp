// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/task_starter.hpp"

#include <algorithm>
#include <bit>

#include "dispatch/task/cancellation.hpp"

namespace flotilla::dispatch {

std::size_t task_starter::start_all(std::span<slot_address const> tasks,
                                    bool until_parked_elsewhere) {
  // Distances in tasks. The lines that only some tasks use are fetched when the lines that tell so
  // have arrived.
  constexpr std::size_t prefetched = 16;
  constexpr std::size_t rest_prefetched = 6;
  task_table const& table = parts_.shared.tasks;
  for (slot_address const task : tasks.first(std::min(prefetched, tasks.size()))) {
    table.prefetch(task);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + prefetched < tasks.size()) { table.prefetch(tasks[i + prefetched]); }
    if (i + rest_prefetched < tasks.size()) { table.prefetch_rest(tasks[i + rest_prefetched]); }
    start(tasks[i]);
    if (until_parked_elsewhere && parts_.before.take_parked_elsewhere()) { return i + 1; }
  }
  return tasks.size();
}

void task_starter::start_followers() {
  std::vector<slot_address>& runnable = parts_.batches.runnable();
  std::vector<slot_address>& alone = parts_.flusher.alone();
  while (!alone.empty() || !runnable.empty()) {
    std::vector<slot_address>& next = alone.empty() ? runnable : alone;
    slot_address const task = next.back();
    next.pop_back();
    start_one(task, &next == &alone);
  }
}

void task_starter::start_one(slot_address task, bool alone) {
  slot& one = parts_.shared.tasks.at(task);
  // The request may come later. So each launch looks again, with the handshake in cancellation.hpp.
  if (is_cancelled(one)) [[unlikely]] { return parts_.reporter.cancel(task); }
  if (parts_.reporter.is_device_lost()) [[unlikely]] { return parts_.reporter.keep(task); }
  bool const is_launch = one.kind == task_kind::launch;
  // A copy that must start alone uses a copy engine.
  bool const may_join = one.kind == task_kind::memory_op && !alone;
  bool const has_engine = may_join && parts_.engines.suits(one, expected_);
  // Its kernel would wait for the blocks of launches that fill the device.
  bool const prefers_engine =
      may_join && parts_.filling.are_in_flight() && kernel_copies::is_between_devices(one);
  bool const has_kernel =
      is_launch || (may_join && !has_engine && !prefers_engine && parts_.in_kernels.describe(one));
  if (has_kernel && !alone) {
    if (one.dependencies != 0) {
      auto const ahead = parts_.before.in_one_lane(task);
      if (ahead.found() && parts_.batches.join_step(task, ahead.last(), ahead.is_only)) { return; }
    } else if (unsigned const lane = parts_.places.of_burst(one); lane != lane_layout::no_lane) {
      if (parts_.batches.append(task, lane)) { parts_.flusher.flush({0, lane}); }
      return;
    }
  }
  bool const joins_others = parts_.has_others && is_launch && !alone && may_join_others(one);
  while (true) {
    resolution const before = parts_.before.resolve(task, found_, joins_others);
    switch (before.kind) {
      case resolution::kinds::stopped: return;
      case resolution::kinds::failed: return parts_.reporter.fail_dependent(task, before.cause);
      case resolution::kinds::ready: break;
    }
    if (is_launch || (has_kernel && joins_launches(one))) {
      if (start_launch(task, alone)) { return; }
    } else if (has_engine) {
      if (!found_.open.empty()) { return behind_open_.push_back(task); }
      if (!parts_.engines.add(task, found_.launched)) { wait_for_room(task); }
      return;
    } else if (found_.open.empty()) {
      return start_other(task);
    } else {
      flush_predecessors();
    }
    // If a launch has poisoned the driver, other tasks of its batch keep their marks. Every open
    // task counts as ended then.
    if (parts_.shared.faults.is_poisoned()) { return; }
  }
}

bool task_starter::may_join_others(slot const& task) const {
  return task.dependencies != 0 && !task.attributed && !parts_.batches.goes_alone(task) &&
         parts_.places.may_share_jointly(task);
}

bool task_starter::joins_launches(slot& task) const {
  // If a predecessor is in an open batch, a copy engine would need that batch to be launched now.
  return found_.any_open() || expected_ > 1 || kernel_copies::prefers_kernel(task);
}

void task_starter::start_other(slot_address task) {
  switch (parts_.shared.tasks.at(task).kind) {
    case task_kind::memory_op:
      if (!parts_.copies.start(task, found_.launched)) { wait_for_room(task); }
      break;
    case task_kind::recorded:
      if (!parts_.replays.start(task, found_.launched)) { wait_for_room(task); }
      break;
    case task_kind::chunk:
      if (!parts_.chunks.start(task, found_.launched)) { wait_for_room(task); }
      break;
    case task_kind::event_wait: parts_.events.add(task, found_.launched); break;
    default: parts_.callables.add(task); break;  // runs after the launches of this pass
  }
}

bool task_starter::must_wait_for_places(slot_address task) {
  slot const& one = parts_.shared.tasks.at(task);
  bool const needs_several = parts_.shared.tasks.side(task).attributes.prevent_batch() ||
                             parts_.shared.kernels.kernels[one.kernel].has_clusters;
  if (!needs_several) { return false; }  // programmatic
  parts_.device_waits.disable();
  bool const exchanges = parts_.lanes.counts().exchanging_batches != 0;
  if (exchanges) { parts_.replays.let_pass(); }
  return exchanges || !parts_.device_waits.callables_may_run();
}

bool task_starter::start_launch(slot_address task, bool alone) {
  using kinds = batcher::step::kinds;
  slot const& one = parts_.shared.tasks.at(task);
  if (!parts_.lanes.has_room(one.level)) {
    wait_for_room(task);
    return true;
  }
  if (one.attributed && must_wait_for_places(task)) [[unlikely]] {
    wait_for_room(task);
    return true;
  }
  alone = alone || parts_.batches.goes_alone(one);
  if (found_.any_open()) { return start_follower(task, alone); }
  end_mark device_wait{};
  // In a joint pass, such launches share a wait (wave_flusher::prepare_wave).
  bool const shares_wait = parts_.flusher.is_joint() && parts_.places.shares_lane(one);
  if (!alone && !found_.launched.empty() && !shares_wait) {
    if (parts_.device_waits.should_keep(one, found_.launched, waiting_.at(0).size())) {
      kept_ = true;
      wait_for_room(task);
      return true;
    }
    device_wait = parts_.device_waits.choose(found_.launched, parts_.profiles.of(one.kernel));
  }
  batcher::step step = parts_.batches.add(task, found_.launched, device_wait, alone);
  while (step.kind == kinds::flush_first) {
    parts_.flusher.flush(step.where);
    step = parts_.batches.add(task, found_.launched, device_wait, alone);
  }
  do_step(task, step);
  return true;
}

bool task_starter::start_follower(slot_address task, bool alone) {
  // A batch that waits for another device would make the other tasks of its wave wait too.
  // In a joint pass, they wait for it too.
  bool const shares_wait =
      parts_.flusher.is_joint() && parts_.places.shares_lane(parts_.shared.tasks.at(task));
  bool const waits_elsewhere =
      !shares_wait && any_elsewhere(found_.launched, parts_.lanes.device());
  if (alone || waits_elsewhere) {
    flush_predecessors();
    return false;
  }
  do_step(task, parts_.batches.follow(task, found_));
  return true;
}

void task_starter::do_step(slot_address task, batcher::step const& step) {
  using kinds = batcher::step::kinds;
  switch (step.kind) {
    case kinds::full: parts_.flusher.flush(step.where); break;
    case kinds::alone: parts_.flusher.launch_alone(task, step.where.lane); break;
    case kinds::no_room: wait_for_room(task); break;
    case kinds::refused: parts_.reporter.refuse(task, step.why); break;
    default: break;
  }
}

void task_starter::flush_predecessors() {
  for (batch_place const where : found_.open) { parts_.flusher.flush(where); }
}

void task_starter::give_up_open() {
  std::vector<slot_address> tasks;
  parts_.flusher.take_open(tasks);
  for (std::vector<slot_address>* const more : {&parts_.batches.runnable(), &behind_open_}) {
    tasks.insert(tasks.end(), more->begin(), more->end());
    more->clear();
  }
  parts_.engines.take(tasks);
  start_first(tasks);
}

void task_starter::start_first(std::span<slot_address const> tasks) {
  for (std::size_t i = tasks.size(); i-- > 0;) {
    slot& one = parts_.shared.tasks.at(tasks[i]);
    one.batched.store(0, std::memory_order_relaxed);
    // A replay without a deadline can never be cancelled (submitter::fill).
    generation_word const word{one.generation.load(std::memory_order_relaxed)};
    if (one.kind != task_kind::recorded || word.timed()) { give_up_launch(one); }
    waiting_.at(one.level).push_front(tasks[i]);
  }
}

bool task_starter::retry_waiting(priority_level level) {
  // A task may wait for room in one lane while others can start. Looking at more tasks than this
  // would cost more time than it saves.
  constexpr std::size_t max_without_room = 64;
  bool moved = false;
  std::size_t without_room = 0;
  priority_queues::queue& queue = waiting_.at(level);
  for (std::size_t left = queue.size(); left > 0; --left) {
    bool const may_start = without_room < max_without_room && parts_.lanes.has_room(level);
    if (!may_start && without_room == 0) { break; }
    slot_address const task = queue.take_front();
    if (!may_start) {
      queue.push_back(task);  // the tasks without room are behind it, so this keeps the order
      continue;
    }
    std::size_t const before = queue.size();
    start(task);
    bool const has_started = queue.size() == before;
    moved = moved || has_started;
    without_room += has_started ? 0 : 1;
  }
  return moved;
}

void task_starter::flush_urgent() {
  while (std::uint64_t const urgent = parts_.waves.lanes() & lane_layout::urgent_lane_set) {
    auto const lane = static_cast<unsigned>(std::bit_width(urgent)) - 1;
    for (unsigned wave = 0; wave < parts_.waves.count(); ++wave) {
      if (parts_.waves.is_open({wave, lane})) { parts_.flusher.flush({wave, lane}); }
    }
    start_followers();
  }
}

void task_starter::flush_all() {
  flush_urgent();
  do {
    while (parts_.waves.lanes() != 0) {
      for (unsigned wave = 0; wave < parts_.waves.count(); ++wave) {
        parts_.flusher.flush_wave(wave);
      }
      start_followers();
    }
  } while (start_behind_open());
  parts_.engines.flush_all();
}

bool task_starter::start_behind_open() {
  // If a launch has poisoned the driver, the tasks of its batch keep their marks.
  if (behind_open_.empty() || parts_.shared.faults.is_poisoned()) { return false; }
  std::vector<slot_address> copies;
  copies.swap(behind_open_);
  for (slot_address const task : copies) { start(task); }
  return true;
}

}  // namespace flotilla::dispatch
