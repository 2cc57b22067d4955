// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides the order of tasks that commute.

#include <array>
#include <cstddef>

#include "dispatch/task/task_state.hpp"

namespace flotilla::dispatch {

/// Tasks that commute may run in any order, but not at the same time. Each of them names the same
/// turn as a predecessor (make_turn). When all its other predecessors are launched, ended or in an
/// open batch, the task takes the turn: from then on, its predecessor is the task that was the last
/// to take it. So a task whose predecessors are not launched yet delays no other one.
///
/// A task that takes a turn waits only for tasks that took it before. So no cycle arises.
///
/// Several turns may share an entry. Then their tasks also run one after the other, which is
/// correct, but not necessary.
///
/// Threads: only the holder of the device's lease.
class commuting_tasks {
 public:
  /// Returns the task that was the last to take the turn, or a key that names nothing.
  [[nodiscard]] task_key take(task_key turn, task_key task) noexcept {
    task_key& last = last_[turn.generation % last_.size()];
    task_key const before = last;
    last = task;
    return before;
  }

 private:
  static constexpr std::size_t entries = 4096;
  std::array<task_key, entries> last_{};
};

}  // namespace flotilla::dispatch
