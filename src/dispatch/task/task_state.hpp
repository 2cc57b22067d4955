// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The key of a task and its progress.

#include <cstdint>
#include <memory>

#include <flotilla/task/task_id.hpp>

#include "dispatch/task/failure.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Identifies a task. Slots store their predecessors in this form. A key without a slot is a turn
/// (see commuting_tasks), or names nothing.
struct task_key {
  static constexpr std::uint32_t no_turn = 0;

  slot_address slot = no_slot;
  std::uint32_t generation = no_turn;  // lower half of the generation, or a turn

  [[nodiscard]] bool is_task() const noexcept { return slot != no_slot; }
  [[nodiscard]] bool is_turn() const noexcept { return !is_task() && generation != no_turn; }
};

/// Returns the predecessor that makes a task wait for its turn.
/// @param number  Not task_key::no_turn.
[[nodiscard]] constexpr task_id make_turn(std::uint32_t number) noexcept {
  return {.slot = no_slot, .generation = number};
}

/// How far a task has come.
struct task_state {
  enum class states { open, launched, ended, failed } state = states::open;
  end_mark end{};                        // only if launched, or ended and not retired yet
  std::shared_ptr<failure const> why{};  // only if failed
};

}  // namespace flotilla::dispatch
