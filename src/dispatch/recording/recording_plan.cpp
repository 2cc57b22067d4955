// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recording_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace flotilla::dispatch {

namespace {

/// The edges of one part. The caller adds the nodes in ascending order.
class edges {
 public:
  explicit edges(std::size_t nodes) : behind_(nodes + 1), after_(nodes), is_leaf_(nodes, true) {}

  void add_root(std::uint32_t node) { add(static_cast<std::uint32_t>(after_.size()), node); }

  /// Makes `node` run after `ahead`. `node` must be the greatest node so far. If `ahead` already
  /// has `max_side_by_side` successors, `node` runs after one of these successors instead: the one
  /// that was added `max_side_by_side` successors earlier. So `node` still runs after `ahead`, but
  /// not directly.
  void add(std::uint32_t ahead, std::uint32_t node) {
    while (true) {
      std::vector<std::uint32_t>& asked = behind_[ahead];
      if (!asked.empty() && asked.back() == node) { return; }  // `node` already runs after `ahead`
      asked.push_back(node);
      if (asked.size() <= max_side_by_side) { break; }
      ahead = asked[asked.size() - 1 - max_side_by_side];
    }
    if (ahead == after_.size()) { return; }  // a root
    after_[node].push_back(ahead);
    is_leaf_[ahead] = false;
  }

  void finish(planned_part& into) {
    into.after = std::move(after_);
    for (std::uint32_t i = 0; i < is_leaf_.size(); ++i) {
      if (is_leaf_[i]) { into.leaves.push_back(i); }
    }
  }

 private:
  // By node: the nodes that `add` has ordered after that node, directly or not. The last entry
  // holds the roots.
  std::vector<std::vector<std::uint32_t>> behind_;
  std::vector<std::vector<std::uint32_t>> after_;
  std::vector<bool> is_leaf_;
};

void join_ends(recording_plan& plan, unsigned device) {
  std::vector<bool> is_end(plan.parts.size(), true);
  for (planned_part const& each : plan.parts) {
    for (std::uint32_t const ahead : each.parts_ahead) { is_end[ahead] = false; }
  }
  // If only one part has no successor, that part already runs after all others.
  if (std::count(is_end.begin(), is_end.end(), true) < 2) { return; }
  planned_part join{.device = device};
  for (std::uint32_t i = 0; i < is_end.size(); ++i) {
    if (is_end[i]) { join.parts_ahead.push_back(i); }
  }
  plan.parts.push_back(std::move(join));
}

}  // namespace

recording_plan plan_recording(std::span<task_to_plan const> tasks) {
  recording_plan plan;
  if (tasks.empty()) { return plan; }
  unsigned devices = 0;
  std::vector<std::uint32_t> phases;
  // The number of each part, by phase and device.
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> numbers;
  for (task_to_plan const& each : tasks) {
    std::uint32_t phase = 0;
    for (std::uint32_t const ahead : each.after) {
      phase = std::max(phase, phases[ahead] + (tasks[ahead].device == each.device ? 0 : 1));
    }
    phases.push_back(phase);
    numbers[{phase, each.device}] = 0;
    devices = std::max(devices, each.device + 1);
  }
  for (auto& [key, number] : numbers) {
    number = static_cast<std::uint32_t>(plan.parts.size());
    plan.parts.push_back({.device = key.second});
  }
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    std::uint32_t const number = numbers[{phases[i], tasks[i].device}];
    std::vector<std::uint32_t>& in = plan.parts[number].tasks;
    plan.places.push_back({number, static_cast<std::uint32_t>(in.size())});
    in.push_back(i);
  }
  // By device: 1 + the device's latest part so far; 0 if there is none.
  std::vector<std::uint32_t> last_of(devices, 0);
  for (std::uint32_t number = 0; number < plan.parts.size(); ++number) {
    planned_part& part = plan.parts[number];
    // By device: 1 + the latest part that this part must wait for; 0 if there is none. Waiting for
    // the latest part is enough, because the parts of one device run in order.
    std::vector<std::uint32_t> waits(devices, 0);
    waits[part.device] = std::exchange(last_of[part.device], number + 1);
    edges inside{part.tasks.size()};
    for (std::uint32_t node = 0; node < part.tasks.size(); ++node) {
      bool root = true;
      for (std::uint32_t const ahead : tasks[part.tasks[node]].after) {
        recording_plan::place const there = plan.places[ahead];
        if (there.part == number) {
          inside.add(there.node, node);
          root = false;
        } else {
          std::uint32_t& wait = waits[plan.parts[there.part].device];
          wait = std::max(wait, there.part + 1);
        }
      }
      if (root) { inside.add_root(node); }
    }
    inside.finish(part);
    for (std::uint32_t const wait : waits) {
      if (wait != 0) { part.parts_ahead.push_back(wait - 1); }
    }
  }
  join_ends(plan, tasks.front().device);
  return plan;
}

}  // namespace flotilla::dispatch
