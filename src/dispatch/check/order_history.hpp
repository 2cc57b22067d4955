// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds two tasks that use the same memory without an order. This code uses no driver and no
// runtime.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch/check/access_map.hpp"
#include "dispatch/check/memory_access.hpp"
#include "dispatch/check/task_graph.hpp"

namespace flotilla::dispatch {

/// A task as the history stores it.
struct checked_task {
  std::string text;   // such as "kernel 'saxpy', label 'step 3'"
  std::string label;  // may be empty
  std::vector<memory_access> accesses;
  bool by_flow = false;  // whether a flow has submitted it
};

/// Two tasks without an order, and an access of each of them. The two accesses overlap.
struct order_conflict {
  checked_task earlier;
  memory_access earlier_access;
  memory_access later_access;
};

/// The tasks of one runtime that may not have ended, as far as the host knows, with their order and
/// their memory. A task is forgotten
/// - after the host has observed that it, or a task that runs after it, has ended;
/// - after its accesses have become redundant (access_map::add);
/// - if the history has `max_tasks` tasks: then the older half is forgotten.
/// A forgotten task counts as ended, so forgetting a task never causes a report.
///
/// Threads: one at a time.
class order_history {
 public:
  explicit order_history(std::size_t max_tasks) : max_tasks_(max_tasks) {}

  /// Adds a task, unless it has a conflict with an earlier task.
  /// @param after   The predecessors. Names that the history does not know are ignored.
  /// @param inside  The callables that submit this task. The task counts as later than their
  ///                predecessors, because a callable may wait for its stream.
  /// @return the conflict. If there is one, nothing has changed.
  [[nodiscard]] std::optional<order_conflict> add(task_name name, std::span<task_name const> after,
                                                  std::span<task_name const> inside,
                                                  checked_task task);
  /// Forgets the task and all of its ancestors, because the host has observed the end of the task.
  void observed(task_name name);
  /// Forgets all tasks with smaller numbers.
  void observed_before(task_number number);
  /// Forgets a task that was added, but could not be submitted.
  void withdraw(task_name name);
  /// Forgets who used this memory, because it will be freed after all of these tasks.
  void freed(std::uintptr_t begin, std::uintptr_t end) { accesses_.remove_all(begin, end); }

  /// Returns the number of the next task.
  [[nodiscard]] task_number next() const noexcept { return graph_.next(); }
  [[nodiscard]] std::size_t tasks() const noexcept { return graph_.size(); }
  [[nodiscard]] std::size_t segments() const noexcept { return accesses_.segments(); }

 private:
  void forget(task_number task);
  /// Forgets tasks about which no question can follow. Called each time when the number of tasks
  /// has doubled, so the cost of one task is constant.
  void forget_unneeded();
  [[nodiscard]] std::optional<order_conflict> conflict_of(checked_task const& task) const;

  std::size_t max_tasks_;
  std::size_t forget_at_ = 256;  // the number of tasks that makes `add` call forget_unneeded
  task_graph graph_;
  access_map accesses_;
  std::unordered_map<task_number, checked_task> tasks_;
};

}  // namespace flotilla::dispatch
