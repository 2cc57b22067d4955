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
  /// Adds the next task. Predecessors that the graph does not have are ignored.
  task_number add(task_name name, std::span<task_number const> predecessors);
  void remove(task_number task);
  [[nodiscard]] std::optional<task_number> find(task_name name) const;
  /// Returns the direct predecessors of the task. Some of them may have been removed.
  [[nodiscard]] std::span<task_number const> predecessors(task_number task) const;
  /// Returns the task and all tasks from which a path leads to it.
  /// Removes all marks.
  [[nodiscard]] std::vector<task_number> with_ancestors(task_number task);

  /// Marks `tasks`, and each task from which a path leads to one of `tasks`. Removes all earlier
  /// marks. Tasks older than `oldest` may stay unmarked, which saves time.
  void mark_ancestors(std::span<task_number const> tasks, task_number oldest);
  [[nodiscard]] bool is_marked(task_number task) const;

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
  /// Marks as mark_ancestors does, and calls `visit(number)` for each task that it marks.
  template <class Visit>
  void mark(std::span<task_number const> tasks, task_number oldest, Visit&& visit);

  struct node {
    task_name name;
    std::vector<task_number> predecessors;
    std::uint64_t mark = 0;  // marked if equal to mark_
  };

  std::map<task_number, node> nodes_;
  std::unordered_map<task_name, task_number, task_name_hash> numbers_;
  task_number next_ = 1;
  std::uint64_t mark_ = 0;
  std::vector<task_number> open_;  // of mark_ancestors; a member to reuse its memory
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
