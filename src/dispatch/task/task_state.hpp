// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The key of a task and its progress.

#include <cstdint>
#include <memory>

#include "dispatch/task/failure.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Identifies a task. Slots store their predecessors in this form.
struct task_key {
  slot_address slot = no_slot;
  std::uint32_t generation = 0;  // lower half of the generation
};

/// How far a task has come.
struct task_state {
  enum class states { open, launched, ended, failed } state = states::open;
  end_mark end{};                        // only if launched, or ended and not retired yet
  std::shared_ptr<failure const> why{};  // only if failed
};

}  // namespace flotilla::dispatch
