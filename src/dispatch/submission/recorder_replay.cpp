// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The recorder: submits one task per part for each replay.
#include <array>
#include <memory_resource>
#include <utility>
#include <vector>

#include "dispatch/submission/recorder.hpp"

namespace flotilla::dispatch {

namespace {

/// An array in stack memory, if it is small enough.
template <class T>
class small_array {
 public:
  explicit small_array(std::size_t count) : items_(count, &memory_) {}
  small_array(small_array const&) = delete;
  small_array& operator=(small_array const&) = delete;
  [[nodiscard]] std::span<T> all() noexcept { return items_; }

 private:
  static constexpr std::size_t small = 32;
  std::array<std::byte, small * sizeof(T)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<T> items_;
};

}  // namespace

ticket recorder::replay(replay_options const& options) {
  with_.usage.check_usable();
  with_.valid.check_predecessors(options.after, {}, 2);  // a replay adds two
  finish();
  small_array<slot_address> slots{parts_.size()};
  // Take the slots before locking the mutex: `take_all` may wait long, and may run callables that
  // replay this recording.
  with_.slots.take_all(devices_, level_of_priority(options.priority), slots.all());
  return submit(slots.all(), options, false);
}

bool recorder::try_replay(replay_options const& options, ticket& made) {
  with_.usage.check_usable();
  small_array<slot_address> slots{parts_.size()};
  priority_level const level = level_of_priority(options.priority);
  if (!with_.slots.try_take_all(devices_, level, slots.all())) { return false; }
  made = submit(slots.all(), options, true);
  return true;
}

ticket recorder::submit(std::span<slot_address const> slots, replay_options const& options,
                        bool keeps_failure) {
  std::lock_guard const lock{replaying_};
  small_array<ticket> tickets{parts_.size()};
  small_array<task_id> ids{parts_.size()};
  try {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      ids.all()[i] = with_.tasks.id_when_open(slots[i]);
      fill(slots[i], i, options, ids.all());
    }
  } catch (...) {
    for (slot_address const each : slots) {
      if (checks_order()) { with_.checks->withdraw(with_.tasks.checked_name(each)); }
    }
    with_.slots.give_back(slots);
    throw;
  }
  // Nothing below throws. Open the tasks of all parts before publishing the first. A published task
  // may fail at once, and its failure is kept only for tasks that are already open.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    bool const is_last = i + 1 == slots.size();
    with_.tasks.open(slots[i], devices_[i], tickets.all()[i], keeps_failure && is_last);
    parts_[i].previous = ids.all()[i];
    parts_[i].changes = change_lists::none;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) { with_.tasks.publish(slots[i], devices_[i]); }
  return std::move(tickets.all().back());
}

void recorder::fill(slot_address slot, std::size_t number, replay_options const& options,
                    std::span<task_id const> now) {
  part const& of = parts_[number];
  task_options how{.label = options.label, .priority = options.priority};
  // A change to a graph also applies to all later replays, so each part must run after the same
  // part of the previous replay.
  if (of.previous.runtime != 0) { how.after_end.add(of.previous); }
  // In addition, a part without predecessors in this replay runs after the last part of the
  // previous replay.
  task_id const last = parts_.back().previous;
  if (of.parts_ahead.empty() && parts_.size() > 1 && last.runtime != 0) { how.after_end.add(last); }
  for (std::uint32_t const ahead : of.parts_ahead) { how.after.add(now[ahead]); }
  if (of.parts_ahead.empty()) {
    for (std::size_t i = 0; i < options.after.size(); ++i) { how.after.add(options.after[i]); }
  }
  if (checks_order()) {
    auto const index = static_cast<std::uint32_t>(number);
    with_.checks->check_order_of_replay(of.device, accesses_.of_part(index, places_), how,
                                        with_.tasks.checked_name(slot),
                                        with_.tasks.callables_inside());
  }
  replayed_part const what{of.index, of.changes};
  with_.tasks.fill(slot, what, how);
}

}  // namespace flotilla::dispatch
