// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/order_history.hpp"

#include <algorithm>

namespace flotilla::dispatch {

std::optional<order_conflict> order_history::conflict_of(checked_task const& task) const {
  auto const is_before = [this](task_number number) { return graph_.is_marked(number); };
  std::optional<task_number> newest;
  memory_access const* later = nullptr;
  for (memory_access const& each : task.accesses) {
    auto const number = accesses_.conflict(each, is_before);
    // Of several conflicts, the newest task is the most useful: after the program has added this
    // task to `after`, the older tasks often have an order too.
    if (number && (!newest || *newest < *number)) {
      newest = number;
      later = &each;
    }
  }
  if (!newest) { return std::nullopt; }
  checked_task const& earlier = tasks_.at(*newest);
  auto const collides = [later](memory_access const& one) {
    return one.memory == later->memory && one.begin < later->end && later->begin < one.end &&
           (one.writes || later->writes);
  };
  auto const found = std::find_if(earlier.accesses.begin(), earlier.accesses.end(), collides);
  return order_conflict{earlier, *found, *later};
}

std::optional<order_conflict> order_history::add(task_name name, std::span<task_name const> after,
                                                 std::span<task_name const> inside,
                                                 checked_task task) {
  std::vector<task_number> ahead;
  for (task_name const each : after) {
    if (auto const number = graph_.find(each)) { ahead.push_back(*number); }
  }
  for (task_name const each : inside) {
    if (auto const number = graph_.find(each)) {
      auto const of_callable = graph_.predecessors(*number);
      ahead.insert(ahead.end(), of_callable.begin(), of_callable.end());
    }
  }
  std::vector<task_number> rivals;
  for (memory_access const& each : task.accesses) { accesses_.find_rivals(each, rivals); }
  std::sort(rivals.begin(), rivals.end());
  rivals.erase(std::unique(rivals.begin(), rivals.end()), rivals.end());
  graph_.mark_ancestors(ahead, rivals);
  if (auto conflict = conflict_of(task)) { return conflict; }
  // All rivals run before the task. Store them as predecessors too. They are shortcuts: a search
  // for the same rivals that comes to this task ends here. They are last, so that it finds them
  // first.
  ahead.insert(ahead.end(), rivals.begin(), rivals.end());
  task_number const number = graph_.add(name, ahead);
  try {
    checked_task const& added = tasks_.emplace(number, std::move(task)).first->second;
    auto const is_before = [this](task_number other) { return graph_.is_marked(other); };
    for (memory_access const& each : added.accesses) { accesses_.add(number, each, is_before); }
  } catch (...) {
    forget(number);
    throw;
  }
  if (graph_.size() >= forget_at_) { forget_unneeded(); }
  return std::nullopt;
}

void order_history::forget(task_number task) {
  if (auto const found = tasks_.find(task); found != tasks_.end()) {
    for (memory_access const& each : found->second.accesses) { accesses_.remove(task, each); }
    tasks_.erase(found);
  }
  graph_.remove(task);
}

void order_history::forget_unneeded() {
  graph_.remove_unneeded([this](task_number task) {
    bool const is_needed = accesses_.holds(task);
    if (!is_needed) { tasks_.erase(task); }
    return is_needed;
  });
  while (graph_.size() > max_tasks_ / 2) { forget(graph_.oldest()); }
  forget_at_ = std::clamp<std::size_t>(2 * graph_.size(), std::min<std::size_t>(256, max_tasks_),
                                       max_tasks_);
}

void order_history::observed(task_name name) {
  auto const task = graph_.find(name);
  if (!task) { return; }
  for (task_number const each : graph_.with_ancestors(*task)) { forget(each); }
}

void order_history::observed_before(task_number number) {
  while (graph_.oldest() < number && graph_.size() != 0) { forget(graph_.oldest()); }
}

void order_history::withdraw(task_name name) {
  if (auto const task = graph_.find(name)) { forget(*task); }
}

}  // namespace flotilla::dispatch
