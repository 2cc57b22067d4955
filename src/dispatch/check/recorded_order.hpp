// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that the tasks of a recording which use the same memory have an order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/check/order_history.hpp"

namespace flotilla::dispatch {

/// What the tasks of a recording use, and their order. Threads: one at a time.
class recorded_order {
 public:
  /// Adds the task with this number. If a task has the number already, replaces it: the call that
  /// added it has failed.
  /// @param ahead  The numbers of its predecessors.
  /// @throws missing_dependency  In this case the task was not added.
  void add(std::uint32_t number, std::vector<std::uint32_t> ahead, checked_task task);
  /// Replaces a task by one that may use other memory. `check` compares it with the others, because
  /// the program may replace several tasks.
  void set(std::uint32_t number, checked_task task);
  /// Checks all tasks again if one of them was replaced.
  /// @throws missing_dependency
  void check();
  /// Returns the memory that the tasks use.
  [[nodiscard]] std::vector<memory_access> accesses() const;

 private:
  struct recorded {
    std::vector<std::uint32_t> ahead;
    checked_task task;
  };
  [[nodiscard]] static checked_task named(checked_task task, std::uint32_t number);
  /// Adds a task to `history_`. @throws missing_dependency
  void add_to_history(std::uint32_t number, recorded const& one);

  std::vector<recorded> tasks_;
  order_history history_{max_tasks};
  bool is_checked_ = true;  // whether `history_` has the present tasks

  static constexpr std::size_t max_tasks = 16384;  // as in order_check
};

}  // namespace flotilla::dispatch
