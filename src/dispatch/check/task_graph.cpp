// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/task_graph.hpp"

#include <algorithm>

namespace flotilla::dispatch {

task_number task_graph::add(task_name name, std::span<task_number const> predecessors) {
  node made{name, {predecessors.begin(), predecessors.end()}};
  auto const [added, is_new] = numbers_.emplace(name, next_);
  try {
    nodes_.emplace_hint(nodes_.end(), next_, std::move(made));
  } catch (...) {
    numbers_.erase(added);
    throw;
  }
  return next_++;
}

void task_graph::remove(task_number task) {
  auto const found = nodes_.find(task);
  if (found == nodes_.end()) { return; }
  numbers_.erase(found->second.name);
  nodes_.erase(found);
}

std::optional<task_number> task_graph::find(task_name name) const {
  auto const found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional{found->second};
}

std::span<task_number const> task_graph::predecessors(task_number task) const {
  auto const found = nodes_.find(task);
  if (found == nodes_.end()) { return {}; }
  return found->second.predecessors;
}

template <class Visit, class Expands>
void task_graph::mark(std::span<task_number const> tasks, Visit&& visit, Expands&& expands) {
  ++mark_;
  open_.assign(tasks.begin(), tasks.end());
  while (!open_.empty()) {
    task_number const task = open_.back();
    open_.pop_back();
    auto const found = nodes_.find(task);
    if (found == nodes_.end() || found->second.mark == mark_) { continue; }
    found->second.mark = mark_;
    visit(task);
    if (!expands(task)) { continue; }
    std::vector<task_number> const& next = found->second.predecessors;
    open_.insert(open_.end(), next.begin(), next.end());
  }
}

void task_graph::mark_ancestors(std::span<task_number const> tasks,
                                std::span<task_number const> wanted) {
  std::size_t left = wanted.size();
  marked_.clear();
  mark(
      tasks,
      [&](task_number task) {
        marked_.push_back(task);
        left -= std::binary_search(wanted.begin(), wanted.end(), task) ? 1 : 0;
      },
      [&](task_number task) {
        // Predecessors are older, so the oldest of `wanted` and older tasks lead to none of them.
        return marked_.size() < min_visits || (left != 0 && task > wanted.front());
      });
  std::sort(marked_.begin(), marked_.end());
}

std::vector<task_number> task_graph::with_ancestors(task_number task) {
  std::vector<task_number> made;
  mark(
      {&task, 1}, [&made](task_number each) { made.push_back(each); },
      [](task_number) { return true; });
  return made;
}

bool task_graph::is_marked(task_number task) const noexcept {
  // Most questions are about tasks that are newer than all marked tasks.
  return !marked_.empty() && task <= marked_.back() &&
         std::binary_search(marked_.begin(), marked_.end(), task);
}

}  // namespace flotilla::dispatch
