// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recording_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace flotilla::dispatch {

namespace {

class recording_planner {
 public:
  explicit recording_planner(task_order const& tasks) : tasks_(tasks) {}

  recording_plan run() {
    find_levels();
    assign_tasks();
    if (plan_.parts.size() > 1) { find_exchanges(); }
    for (std::uint32_t part = 0; part < plan_.parts.size(); ++part) { order_nodes(part); }
    if (plan_.parts.size() > 1) { add_join(); }
    return std::move(plan_);
  }

 private:
  // By level of the exchange: by part, the level that this part must have reached.
  using exchanges = std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>>;

  void find_levels() {
    levels_.reserve(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      std::uint32_t level = 0;
      for (std::uint32_t const ahead : tasks_.after(i)) {
        level = std::max(level, levels_[ahead] + 1);
      }
      levels_.push_back(level);
    }
  }

  void assign_tasks() {
    std::map<unsigned, std::uint32_t> part_of;  // by device
    plan_.places.reserve(tasks_.size());
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      auto const next = static_cast<std::uint32_t>(plan_.parts.size());
      auto const [found, is_new] = part_of.try_emplace(tasks_.device(i), next);
      if (is_new) { plan_.parts.push_back({.device = tasks_.device(i)}); }
      std::vector<std::uint32_t>& in = plan_.parts[found->second].tasks;
      plan_.places.push_back({found->second, static_cast<std::uint32_t>(in.size())});
      in.push_back(i);
    }
  }

  void find_exchanges() {
    found_.resize(plan_.parts.size());
    for (std::uint32_t part = 0; part < found_.size(); ++part) {
      std::map<std::uint32_t, std::uint32_t>& others = found_[part][0];
      for (std::uint32_t other = 0; other < found_.size(); ++other) {
        if (other != part) { others[other] = 0; }
      }
    }
    has_distant_.resize(tasks_.size(), false);
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      std::uint32_t const here = plan_.places[i].part;
      for (std::uint32_t const ahead : tasks_.after(i)) {
        std::uint32_t const there = plan_.places[ahead].part;
        if (there == here) { continue; }
        std::uint32_t const told = levels_[ahead] + 1;
        has_distant_[ahead] = true;
        found_[there][told];
        std::uint32_t& needed = found_[here][levels_[i]][there];
        needed = std::max(needed, told);
      }
    }
    for (std::uint32_t part = 0; part < plan_.parts.size(); ++part) {
      for (auto const& [level, needs] : found_[part]) {
        planned_exchange& made = plan_.parts[part].exchanges.emplace_back();
        made.level = level;
        for (auto const& [other, needed] : needs) { made.needs.push_back({other, needed}); }
      }
    }
  }

  /// Returns the node of the exchange at `level`. There must be one.
  [[nodiscard]] std::uint32_t node_of_exchange(planned_part const& part,
                                               std::uint32_t level) const {
    auto const found = std::lower_bound(
        part.exchanges.begin(), part.exchanges.end(), level,
        [](planned_exchange const& one, std::uint32_t wanted) { return one.level < wanted; });
    return static_cast<std::uint32_t>(part.tasks.size() +
                                      static_cast<std::size_t>(found - part.exchanges.begin()));
  }

  /// Finds the predecessors and the levels of the nodes of a part. An exchange is between the tasks
  /// of its level and those of the level before.
  void order_nodes(std::uint32_t number) {
    planned_part& part = plan_.parts[number];
    std::size_t const nodes = part.tasks.size() + part.exchanges.size();
    part.after.reserve(nodes, nodes);
    part.levels.reserve(nodes);
    // By exchange: the tasks with successors in other parts for which it is the first exchange.
    std::vector<std::vector<std::uint32_t>> told(part.exchanges.size());
    for (std::uint32_t i = 0; i < part.tasks.size(); ++i) {
      std::uint32_t const task = part.tasks[i];
      bool waits = levels_[task] == 0 && !part.exchanges.empty();
      for (std::uint32_t const ahead : tasks_.after(task)) {
        recording_plan::place const there = plan_.places[ahead];
        waits = waits || there.part != number;
        if (there.part == number) { part.after.push(there.index); }
      }
      if (waits) { part.after.push(node_of_exchange(part, levels_[task])); }
      part.after.close();
      part.levels.push_back(2 * levels_[task] + 1);
      if (!has_distant_.empty() && has_distant_[task]) {
        told[node_of_exchange(part, levels_[task] + 1) - part.tasks.size()].push_back(i);
      }
    }
    for (std::uint32_t i = 0; i < part.exchanges.size(); ++i) {
      for (std::uint32_t const task : told[i]) { part.after.push(task); }
      if (i != 0) { part.after.push(static_cast<std::uint32_t>(part.tasks.size()) + i - 1); }
      part.after.close();
      part.levels.push_back(2 * part.exchanges[i].level);
    }
  }

  void add_join() {
    planned_part join{.device = tasks_.device(0)};
    for (std::uint32_t i = 0; i < plan_.parts.size(); ++i) { join.parts_ahead.push_back(i); }
    plan_.parts.push_back(std::move(join));
  }

  task_order const& tasks_;
  recording_plan plan_;
  std::vector<std::uint32_t> levels_;  // by task
  std::vector<bool> has_distant_;      // by task: whether it has a successor in another part
  std::vector<exchanges> found_;       // by part
};

}  // namespace

recording_plan plan_recording(task_order const& tasks) {
  return tasks.size() == 0 ? recording_plan{} : recording_planner{tasks}.run();
}

}  // namespace flotilla::dispatch
