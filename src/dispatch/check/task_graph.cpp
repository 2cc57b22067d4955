#include "dispatch/check/task_graph.hpp"

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

template <class Visit>
void task_graph::mark(std::span<task_number const> tasks, task_number oldest, Visit&& visit) {
  ++mark_;
  open_.assign(tasks.begin(), tasks.end());
  while (!open_.empty()) {
    task_number const task = open_.back();
    open_.pop_back();
    if (task < oldest) { continue; }
    auto const found = nodes_.find(task);
    if (found == nodes_.end() || found->second.mark == mark_) { continue; }
    found->second.mark = mark_;
    visit(task);
    std::vector<task_number> const& next = found->second.predecessors;
    open_.insert(open_.end(), next.begin(), next.end());
  }
}

void task_graph::mark_ancestors(std::span<task_number const> tasks, task_number oldest) {
  mark(tasks, oldest, [](task_number) {});
}

std::vector<task_number> task_graph::with_ancestors(task_number task) {
  std::vector<task_number> made;
  mark({&task, 1}, 0, [&made](task_number each) { made.push_back(each); });
  return made;
}

bool task_graph::is_marked(task_number task) const {
  auto const found = nodes_.find(task);
  return found != nodes_.end() && found->second.mark == mark_;
}

}  // namespace flotilla::dispatch
