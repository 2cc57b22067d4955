// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/intake.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "base/single_writer.hpp"
#include "dispatch/task/chunk_command.hpp"

namespace flotilla::dispatch {

namespace {

bool any_has_tasks(std::span<std::shared_ptr<inbox> const> boxes) {
  return std::any_of(boxes.begin(), boxes.end(), [](auto const& box) { return !box->empty(); });
}

}  // namespace

slot_address intake::next_requeued(slot_address task) const noexcept {
  return parts_.shared.tasks.at(task).next_parked.load(std::memory_order_relaxed);
}

std::size_t intake::count_requeued(slot_address first) const noexcept {
  std::size_t count = 0;
  while (first != no_slot && count < engine_batches::min_expected) {
    first = next_requeued(first);
    ++count;
  }
  return count;
}

bool intake::take_requeued() {
  slot_address next = parts_.inbound.take_requeued();
  bool const any = next != no_slot;
  parts_.starter.expect(count_requeued(next));
  while (next != no_slot) {
    slot_address const task = next;
    // Read the link before `start`, which may park the task again and overwrite the link.
    next = next_requeued(task);
    parts_.starter.start(task);
  }
  return any;
}

bool intake::inboxes_have_above(priority_level level) const noexcept {
  return any_has_tasks(own_.above(level)) || any_has_tasks(shared_.above(level));
}

bool intake::has_more_urgent(priority_level level) {
  parts_.inbound.inboxes().refresh(own_);
  parts_.shared.shared.inboxes().refresh(shared_);
  return parts_.inbound.has_requeued_above(level) || inboxes_have_above(level);
}

std::size_t intake::queued() const noexcept {
  std::size_t sum = held().size();
  for (auto const& box : own_.boxes) { sum += box->size(); }
  return sum;
}

bool intake::has_left_some() const noexcept { return !held().empty() || any_has_tasks(own_.boxes); }

bool intake::has_room(priority_level level) const noexcept {
  return parts_.lanes.has_room(level) && parts_.starter.waiting().at(level).size() < quantum;
}

void intake::begin_take() {
  parts_.inbound.inboxes().refresh(own_);
  std::size_t waiting = parts_.starter.waiting().size();
  for (auto const& box : own_.boxes) { waiting += box->size(); }
  parts_.batches.set_waiting(waiting);
  parts_.starter.expect(waiting);
  ++own_.next;
}

bool intake::take_in_turn() {
  begin_take();
  auto const boxes = own_.at(0);
  for (std::size_t i = 0; i < boxes.size() && held().empty(); ++i) {
    first_held_ = 0;
    end_held_ = boxes[(own_.next + i) % boxes.size()]->pop(held_.data(), quantum);
  }
  if (held().empty() || !has_room(0)) { return false; }
  first_held_ += parts_.starter.start_all(held(), true);
  return true;
}

bool intake::take_urgent() {
  begin_take();
  bool moved = false;
  // Visit every level, even a level without inboxes, because tasks of that level may still wait for
  // room.
  for (priority_level level = max_priority_level; level > 0; --level) {
    moved = take_inboxes(level) || moved;
  }
  parts_.starter.flush_urgent();
  return moved;
}

bool intake::take_inboxes() {
  bool const moved = take_urgent();
  return take_inboxes(0) || moved;
}

bool intake::take_inboxes(priority_level level) {
  // Start the tasks that wait for room first. Otherwise newer tasks would overtake the waiting
  // tasks again and again.
  bool moved = parts_.starter.retry_waiting(level);
  if (level == 0 && !held().empty()) {
    parts_.starter.start_all(held());
    first_held_ = end_held_ = 0;
    moved = true;
  }
  auto const boxes = own_.at(level);
  bool has_orphans = false;
  for (std::size_t i = 0; i < boxes.size() && has_room(level); ++i) {
    // Stop if a more urgent task has arrived, so that the urgent task waits for at most one inbox.
    // But first start at least one task: an urgent task that finds no room stays in its inbox, and
    // must not stop level 0 meanwhile.
    if (level == 0 && moved && i != 0 && inboxes_have_above(0)) { break; }
    inbox& box = *boxes[(own_.next + i) % boxes.size()];
    std::size_t const count = box.pop(popped_.data(), quantum);
    parts_.starter.start_all({popped_.data(), count});
    moved = moved || count != 0;
    has_orphans = has_orphans || (count == 0 && box.orphaned());
  }
  if (has_orphans) {
    parts_.inbound.inboxes().sweep(parts_.shared.tasks.pool_at(parts_.lanes.device()));
  }
  return moved;
}

std::size_t intake::shared_room(priority_level level) const noexcept {
  if (!has_room(level)) { return 0; }
  return parts_.shared.shared.share(parts_.lanes.device()).room(level);
}

bool intake::has_shared_room() const noexcept {
  if (shared_room(0) != 0) { return true; }
  for (priority_level level = shared_.highest(); level > 0; --level) {
    if (shared_room(level) != 0 && any_has_tasks(shared_.at(level))) { return true; }
  }
  return false;
}

bool intake::pull_shared() {
  shared_queue& queue = parts_.shared.shared;
  unsigned const device = parts_.lanes.device();
  if (!queue.is_pending() || parts_.shared.stuck.avoids(device)) { return false; }
  queue.inboxes().refresh(shared_);
  if (!has_shared_room()) { return false; }
  queue.begin_pull();
  queue.inboxes().refresh(shared_);
  bool moved = false;
  bool left = false;
  bool has_orphans = false;
  for (unsigned number = shared_.highest() + 1u; number-- > 0;) {
    auto const level = static_cast<priority_level>(number);
    moved = pull_shared(level, left, has_orphans) || moved;
    if (level != 0) { parts_.starter.flush_urgent(); }
  }
  ++shared_.next;
  if (has_orphans) {
    queue.inboxes().sweep(parts_.shared.tasks.pool_at(parts_.shared.tasks.shared_place()));
  }
  if (left) { queue.set_pending(); }
  return moved;
}

std::size_t intake::pop_shared(inbox& box, priority_level level) {
  device_share& share = parts_.shared.shared.share(parts_.lanes.device());
  std::size_t const max = std::min(shared_room(level), popped_.size());
  if (!box.may_have_chunks()) {
    std::size_t const count = box.pop(popped_.data(), max);
    // The first chunk may have been pushed meanwhile. Then it was announced before, and `pop` pairs
    // with the push.
    if (!box.may_have_chunks()) {
      share.acquire(level, static_cast<std::uint32_t>(count));
    } else {
      for (std::size_t i = 0; i < count; ++i) { share.acquire(parts_.shared.tasks.at(popped_[i])); }
    }
    return count;
  }
  std::size_t count = 0;
  while (count < max) {
    slot_address const next = box.front();
    if (next == no_slot) { break; }
    slot const& task = parts_.shared.tasks.at(next);
    // The other devices may take the chunk.
    if (task.kind == task_kind::chunk && !share.has_room_for_chunk(level)) { break; }
    share.acquire(task);
    count += box.pop(&popped_[count], 1);
  }
  return count;
}

bool intake::pull_shared(priority_level level, bool& left, bool& has_orphans) {
  bool moved = false;
  unsigned const device = parts_.lanes.device();
  auto const boxes = shared_.at(level);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    inbox& box = *boxes[(shared_.next + i) % boxes.size()];
    if (!box.try_claim()) {
      left = true;  // another device is reading this inbox and may leave tasks in it
      continue;
    }
    std::size_t const count = pop_shared(box, level);
    left = left || !box.empty();
    has_orphans = has_orphans || (box.orphaned() && box.empty());
    box.unclaim();
    std::span<slot_address const> const tasks{popped_.data(), count};
    for (slot_address const task : tasks) { parts_.shared.tasks.prefetch(task); }
    for (slot_address const task : tasks) {
      base::add(pulled_, items_of(parts_.shared.tasks.at(task)));
      // release: pairs with the acquire in task_query::device_of
      parts_.shared.tasks.at(task).device.store(device + 1, std::memory_order_release);
    }
    parts_.starter.start_all(tasks);
    moved = moved || count != 0;
  }
  return moved;
}

void intake::empty(inbox& box, std::vector<slot_address>& tasks) {
  std::array<slot_address, quantum> some;
  while (std::size_t const count = box.pop(some.data(), some.size())) {
    tasks.insert(tasks.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

void intake::take_everything(std::vector<slot_address>& tasks, bool shared_too) {
  for (slot_address next = parts_.inbound.take_requeued(); next != no_slot;) {
    tasks.push_back(next);
    next = parts_.shared.tasks.at(next).next_parked.load(std::memory_order_relaxed);
  }
  tasks.insert(tasks.end(), held().begin(), held().end());
  first_held_ = end_held_ = 0;
  parts_.inbound.inboxes().refresh(own_);
  for (auto const& box : own_.boxes) { empty(*box, tasks); }
  if (!shared_too) { return; }
  parts_.shared.shared.inboxes().refresh(shared_);
  for (auto const& box : shared_.boxes) {
    if (!box->try_claim()) { continue; }
    empty(*box, tasks);
    box->unclaim();
  }
}

}  // namespace flotilla::dispatch
