// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which tasks run before which: the graph of the entries in `after`.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dispatch/check/memory_access.hpp"

namespace flotilla::dispatch {

/// Predecessors always have smaller numbers, because `after` can only name submitted tasks. The
/// graph forgets tasks that `remove` names. A removed task counts as having no predecessors, so the
/// caller removes a task only if no question about its predecessors can follow.
/// Threads: one at a time.
class task_graph {
 public:
  // A search visits at least this many tasks if there are so many, even if it has its answer
  // earlier. If the history knows more ancestors, it can forget more.
  static constexpr std::size_t min_visits = 64;

  /// Adds the next task. Predecessors that the graph does not have are ignored.
  task_number add(task_name name, std::span<task_number const> predecessors);
  void remove(task_number task);
  [[nodiscard]] std::optional<task_number> find(task_name name) const;
  /// Returns the direct predecessors of the task. Some of them may have been removed.
  [[nodiscard]] std::span<task_number const> predecessors(task_number task) const;
  /// Returns the task and all tasks from which a path leads to it.
  [[nodiscard]] std::vector<task_number> with_ancestors(task_number task);

  /// Marks `tasks`, and tasks from which a path leads to one of `tasks`. Removes all earlier marks.
  /// Stops when all of `wanted` are marked, but not before `min_visits` tasks are marked.
  /// @param wanted  In ascending order.
  void mark_ancestors(std::span<task_number const> tasks, std::span<task_number const> wanted);
  /// Returns whether the last call of mark_ancestors has marked the task.
  [[nodiscard]] bool is_marked(task_number task) const noexcept;

  /// Removes each task that has no predecessor left and for which `is_needed(number)` returns
  /// false.
  template <class IsNeeded>
  void remove_unneeded(IsNeeded&& is_needed);

  /// Returns the number that the next task will get.
  [[nodiscard]] task_number next() const noexcept { return next_; }
  /// Returns the oldest task, or `next()` if there is none.
  [[nodiscard]] task_number oldest() const noexcept {
    return nodes_.empty() ? next_ : nodes_.begin()->first;
  }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  /// Calls `visit(number)` once for each of `tasks` and of their ancestors, and `expands(number)`
  /// before it follows the predecessors of a task.
  template <class Visit, class Expands>
  void mark(std::span<task_number const> tasks, Visit&& visit, Expands&& expands);

  struct node {
    task_name name;
    std::vector<task_number> predecessors;
    std::uint64_t mark = 0;  // visited by the last call of `mark` if equal to mark_
  };

  std::map<task_number, node> nodes_;
  std::unordered_map<task_name, task_number, task_name_hash> numbers_;
  task_number next_ = 1;
  std::uint64_t mark_ = 0;
  std::vector<task_number> marked_;  // by mark_ancestors; in ascending order
  std::vector<task_number> open_;    // of `mark`; a member to reuse its memory
};

template <class IsNeeded>
void task_graph::remove_unneeded(IsNeeded&& is_needed) {
  for (auto each = nodes_.begin(); each != nodes_.end();) {
    node& one = each->second;
    std::erase_if(one.predecessors, [this](task_number task) { return !nodes_.contains(task); });
    if (one.predecessors.empty() && !is_needed(each->first)) {
      numbers_.erase(one.name);
      each = nodes_.erase(each);
    } else {
      ++each;
    }
  }
}

}  // namespace flotilla::dispatch
