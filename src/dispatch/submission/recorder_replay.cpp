// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The recorder: submits one task per part for each replay.
#include "dispatch/submission/recorder.hpp"

#include <array>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

#include "dispatch/submission/slot_encoding.hpp"

namespace flotilla::dispatch {

/// What a replay needs for each part. It is in stack memory, if there are few parts. Make it before
/// the slots are taken, because it can throw std::bad_alloc.
class recorder::replay_room {
 public:
  explicit replay_room(std::size_t parts)
      : slots_(parts, &memory_), tickets_(parts, &memory_), ids_(parts, &memory_) {}
  replay_room(replay_room const&) = delete;
  replay_room& operator=(replay_room const&) = delete;

  [[nodiscard]] std::span<slot_address> slots() noexcept { return slots_; }
  [[nodiscard]] std::span<ticket> tickets() noexcept { return tickets_; }
  [[nodiscard]] std::span<task_id> ids() noexcept { return ids_; }

 private:
  std::array<std::byte, 2048> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<slot_address> slots_;
  std::pmr::vector<ticket> tickets_;
  std::pmr::vector<task_id> ids_;
};

ticket recorder::replay(replay_options const& options) {
  with_.usage.check_usable();
  with_.valid.check_predecessors(options.after.ids(), {}, 2);  // a replay adds two
  finish();
  if (has_deadline(options) && parts_.size() > 1) {
    throw invalid_argument(
        "replay: a recording over " + std::to_string(parts_.size() - 1) +
        " devices cannot be replayed with a deadline, because some of its graphs may already have "
        "begun when it passes; record the tasks of each device on their own");
  }
  replay_room room{parts_.size()};
  // Take the slots before locking the mutex: `take_all` may wait long, and may run callables that
  // replay this recording.
  with_.slots.take_all(devices_, level_of_priority(options.priority), room.slots());
  submit(room, options, false);
  return std::move(room.tickets().back());
}

std::optional<task_id> recorder::try_replay(replay_options const& options) {
  with_.usage.check_usable();
  replay_room room{parts_.size()};
  priority_level const level = level_of_priority(options.priority);
  if (!with_.slots.try_take_all(devices_, level, room.slots())) { return std::nullopt; }
  submit(room, options, true);
  return room.ids().back();
}

void recorder::wait_for_room(int priority) const {
  replay_room room{parts_.size()};
  with_.slots.take_all(devices_, level_of_priority(priority), room.slots());
  with_.slots.give_back(room.slots());
}

void recorder::submit(replay_room& room, replay_options const& options, bool is_posted) {
  std::span<slot_address const> const slots = room.slots();
  std::lock_guard const lock{replaying_};
  try {
    order_.check();
    ++replays_;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      room.ids()[i] = with_.tasks.id_when_open(slots[i]);
      fill(slots[i], i, options, room.ids());
    }
  } catch (...) {
    if (checks_order()) { with_.checks->withdraw(with_.tasks.checked_name(slots.back())); }
    with_.slots.give_back(slots);
    throw;
  }
  // Nothing below throws. Open the tasks of all parts before publishing the first. A published task
  // may fail at once, and its failure is kept only for tasks that are already open.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    bool const posts = is_posted && i + 1 == slots.size();
    with_.tasks.open(slots[i], devices_[i], posts ? nullptr : &room.tickets()[i], posts,
                     options.deadline);
    parts_[i].previous = room.ids()[i];
    parts_[i].changes = change_lists::none;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) { with_.tasks.publish(slots[i], devices_[i]); }
}

void recorder::fill(slot_address slot, std::size_t number, replay_options const& options,
                    std::span<task_id const> now) {
  part const& of = parts_[number];
  task_options how{.label = options.label, .priority = options.priority};
  how.deadline = options.deadline;
  // A change to a graph also applies to all later replays, so each part must run after the same
  // part of the previous replay.
  if (of.previous.runtime != 0) { how.after_end.add(of.previous); }
  // The parts of one replay begin together (plan_recording), so no part runs beside one of the
  // previous replay.
  for (std::uint32_t const ahead : of.parts_ahead) { how.after.add(now[ahead]); }
  if (of.parts_ahead.empty()) {
    for (std::size_t i = 0; i < options.after.size(); ++i) { how.after.add(options.after[i]); }
  }
  if (checks_order() && number + 1 == parts_.size()) { check_order(slot, how, options); }
  replayed_part const what{.part = of.index, .changes = of.changes, .replay = replays_};
  with_.tasks.fill(slot, what, how);
}

void recorder::check_order(slot_address last, task_options how, replay_options const& options) {
  // The ticket of the replay is that of the last part, so the check knows the replay by this task.
  // The order inside the replay was checked before.
  if (parts_.size() > 1) {
    for (std::size_t i = 0; i < options.after.size(); ++i) { how.after.add(options.after[i]); }
  }
  with_.checks->check_order_of_replay(parts_.back().device, order_.accesses(), how,
                                      with_.tasks.checked_name(last),
                                      with_.tasks.callables_inside());
}

}  // namespace flotilla::dispatch
