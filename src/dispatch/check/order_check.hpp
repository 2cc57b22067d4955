// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that tasks which use the same memory have an order.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/task/dependency_list.hpp>

#include "dispatch/check/order_history.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class order_check {
 public:
  // The history of a task takes about 700 bytes, so this is at most about 12 MiB.
  static constexpr std::size_t max_tasks = 16384;

  /// Adds a task that is about to be opened.
  /// @param inside  See order_history::add.
  /// @throws missing_dependency  In this case the task was not added.
  void add(task_name name, dependency_list const& after, std::span<task_name const> inside,
           checked_task task);
  void withdraw(task_name name) noexcept;
  void observed(task_name name) noexcept;
  void observed_before(task_number number);
  void freed(std::uintptr_t address, std::size_t bytes);
  /// Returns the number of the next task.
  [[nodiscard]] task_number next() const;

 private:
  std::mutex mutable mutex_;
  order_history history_{max_tasks};  // guarded by mutex_
};

/// Returns a text that names two tasks without an order, and their memory.
[[nodiscard]] std::string describe_pair(order_conflict const& found, checked_task const& later);
/// Writes a finding into the log, and throws it. While the exception leaves the program's blocks,
/// their memory is freed, although earlier tasks may still use it. So the process may end before
/// the program prints the exception. @throws missing_dependency
[[noreturn]] void throw_finding(std::string const& text);
/// Returns the message for two submitted tasks without an order, with the cure.
[[nodiscard]] std::string describe(order_conflict const& found, checked_task const& later);

}  // namespace flotilla::dispatch
