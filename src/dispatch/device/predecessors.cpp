// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/predecessors.hpp"

#include <algorithm>
#include <utility>

namespace flotilla::dispatch {

namespace {

/// Returns the batch_mark of the predecessor if it is in an open batch, else 0. Means nothing if
/// another thread drives the device of the batch.
std::uint32_t mark_of(slot const& before, std::uint32_t generation) {
  // acquire: pairs with the release in open_slot. The slot holds the predecessor until the
  // predecessor ends, and only this thread ends tasks of its open batches.
  generation_word const word{before.generation.load(std::memory_order_acquire)};
  std::uint32_t const mark = before.batched.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(word.generation()) == generation ? mark : 0;
}
/// The same for an open batch of this device.
std::uint32_t mark_of(slot const& before, std::uint32_t generation, unsigned device) {
  std::uint32_t const mark = mark_of(before, generation);
  return batch_mark::is_on(mark, device) ? mark : 0;
}

}  // namespace

predecessors::batches_ahead predecessors::in_one_lane(slot_address task) const {
  constexpr std::size_t max_looked_at =
      slot::inline_dependencies + slot_side::more_inline_dependencies;
  std::size_t const count = shared_.tasks.at(task).dependencies;
  if (count > max_looked_at) { return {}; }
  batches_ahead ahead;
  for (std::size_t i = 0; i < count; ++i) {
    task_key const key = shared_.tasks.dependency(task, i);
    if (!key.is_task()) [[unlikely]] { return {}; }  // a turn, for example
    std::uint32_t const mark = mark_of(shared_.tasks.at(key.slot), key.generation, device_);
    if (mark == 0) { return {}; }
    if (mark == ahead.mark) { continue; }
    if (ahead.found()) {
      if (batch_mark::place(mark).lane != ahead.last().lane) { return {}; }
      ahead.is_only = false;
    }
    // In one lane, the mark of a later wave is greater.
    ahead.mark = std::max(ahead.mark, mark);
  }
  return ahead;
}

bool predecessors::is_batched_here(task_key key, unended_predecessors& found) const {
  std::uint32_t const mark = mark_of(shared_.tasks.at(key.slot), key.generation, device_);
  if (mark != 0) { found.add_open(batch_mark::place(mark)); }
  return mark != 0;
}

bool predecessors::is_batched_elsewhere(task_key key, unended_predecessors& found) {
  if (!may_join_ || joint_ == nullptr) { return false; }
  std::uint32_t const mark = mark_of(shared_.tasks.at(key.slot), key.generation);
  if (mark == 0 || !joint_->contains(batch_mark::device(mark))) { return false; }
  note_followed(batch_mark::device(mark));
  found.add_elsewhere({batch_mark::device(mark), batch_mark::place(mark)});
  return true;
}

bool predecessors::are_batched_here(slot const& task, unended_predecessors& found) const {
  std::uint32_t last = 0;  // predecessors are often in the same batch
  for (std::size_t i = 0; i < task.dependencies; ++i) {
    if (task.after_slot[i] == no_slot) [[unlikely]] { return false; }  // a turn, for example
    std::uint32_t const mark =
        mark_of(shared_.tasks.at(task.after_slot[i]), task.after_generation[i], device_);
    if (mark == 0) { return false; }
    if (mark != last) { found.add_open(batch_mark::place(mark)); }
    last = mark;
  }
  return true;
}

resolution predecessors::resolve_one(slot_address task, task_key key, bool may_fail,
                                     unended_predecessors& found) {
  using kinds = resolution::kinds;
  using states = task_state::states;
  task_state state = shared_.order.look(key);
  while (state.state == states::open) {
    // A poisoned driver launches no tasks. Every open task counts as ended, so do not park this
    // task.
    if (shared_.faults.is_poisoned()) { return {kinds::stopped}; }
    if (is_batched_here(key, found) || is_batched_elsewhere(key, found)) { return {kinds::ready}; }
    if (shared_.order.park(task, key)) {
      // If no device has taken the predecessor yet, the number wraps.
      unsigned const ahead = shared_.tasks.at(key.slot).device.load(std::memory_order_relaxed) - 1;
      note_followed(ahead);
      parked_elsewhere_ = parked_elsewhere_ || (begins_joint_ && ahead != device_);
      return {kinds::stopped};
    }
    state = shared_.order.look(key);  // launched or ended between `look` and `park`
  }
  if (state.state == states::failed && may_fail) { return {kinds::failed, std::move(state.why)}; }
  if (state.state == states::launched) {
    if (shared_.lost.must_wait_on_host(device_, state.end.device())) [[unlikely]] {
      ends_.add(task, key);
      return {kinds::stopped};
    }
    note_followed(state.end.device());
    found.add_launched(state.end);
  }
  return {kinds::ready};
}

resolution predecessors::take_turn(slot_address task, std::size_t i, unended_predecessors& found) {
  slot const& one = shared_.tasks.at(task);
  generation_word const word{one.generation.load(std::memory_order_relaxed)};
  task_key const before = commuting_.take(shared_.tasks.dependency(task, i),
                                          {task, static_cast<std::uint32_t>(word.generation())});
  // Write before `park`: after it, another thread may start the task.
  shared_.tasks.set_dependency(task, i, before);
  if (!before.is_task()) { return {resolution::kinds::ready}; }
  // If the task before fails, the data of both are lost anyway (task_order).
  return resolve_one(task, before, false, found);
}

resolution predecessors::resolve(slot_address task, unended_predecessors& found, bool may_join) {
  found.clear();
  may_join_ = may_join;
  begins_joint_ = may_join && shared_.tasks.at(task).dependencies > 1;
  slot const& one = shared_.tasks.at(task);
  std::size_t const count = one.dependencies;
  if (count == 0) { return {resolution::kinds::ready}; }
  bool const has_many = count > slot::inline_dependencies;
  if (!has_many && are_batched_here(one, found)) { return {resolution::kinds::ready}; }
  found.clear();
  std::size_t const order_only = shared_.tasks.order_only(task);
  // A task with many predecessors may be parked once for each of them. So begin with the
  // predecessor on which it was parked last: then each predecessor is looked at about twice, and
  // not once for each time that the task was parked.
  std::size_t const first = has_many ? shared_.tasks.side(task).first_unstarted : 0;
  std::size_t turn = count;  // the index of a predecessor that is a turn
  for (std::size_t step = 0; step < count; ++step) {
    std::size_t const i = first + step < count ? first + step : first + step - count;
    // Write before `park`: after it, another thread may start the task.
    if (has_many && i >= first) {
      shared_.tasks.side(task).first_unstarted = static_cast<std::uint16_t>(i);
    }
    task_key const key = shared_.tasks.dependency(task, i);
    if (!key.is_task()) [[unlikely]] {
      if (key.is_turn()) { turn = i; }
      continue;
    }
    if (is_batched_here(key, found) || is_batched_elsewhere(key, found)) { continue; }
    resolution one_found = resolve_one(task, key, i >= order_only, found);
    if (one_found.kind != resolution::kinds::ready) { return one_found; }
  }
  if (turn != count) [[unlikely]] { return take_turn(task, turn, found); }
  return {resolution::kinds::ready};
}

}  // namespace flotilla::dispatch
