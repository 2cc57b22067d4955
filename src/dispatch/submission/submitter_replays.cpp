// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Submits the tasks of a replay: fills all slots, opens all, and publishes all.
#include "dispatch/submission/slot_encoding.hpp"
#include "dispatch/submission/submitter.hpp"

namespace flotilla::dispatch {

void submitter::fill(slot_address slot, replayed_part const& what,
                     task_options const& options) const {
  encode(tasks_.at(slot), tasks_.side(slot), what, options, level_of_priority(options.priority),
         reclaimer_.epoch());
  // A replay cannot be cancelled: it may consist of several tasks, and the ticket is of the last.
  // Only a replay with one task may have a deadline.
  if (!has_deadline(options)) { begin_launch(tasks_.at(slot)); }
}

task_id submitter::id_when_open(slot_address slot) const noexcept {
  generation_word const word{tasks_.at(slot).generation.load(std::memory_order_relaxed)};
  return {owner_.number, slot, word.generation() + 1};
}

void submitter::open(slot_address slot, unsigned device, ticket* ticket, bool keeps_failure,
                     std::chrono::steady_clock::time_point deadline) const noexcept {
  if (trace_.active()) [[unlikely]] { trace_.note_submit(slot); }
  std::uint64_t const generation =
      open_slot(tasks_.at(slot), slot, device + 1, owner_, ticket, keeps_failure, true);
  if (deadline != std::chrono::steady_clock::time_point::max()) {
    overdue_.watch(slot, generation, deadline);
  }
  if (ticket == nullptr) { posted_.expect(); }
}

void submitter::publish(slot_address slot, unsigned device) const {
  place const& to = places_[device];
  places_.inbox_to(to, tasks_.at(slot).level).push(slot);
  to.announce();
  if (tasks_.at(slot).posted.load(std::memory_order_relaxed)) { posted_.note_open(); }
}

}  // namespace flotilla::dispatch
