// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recording_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace flotilla::dispatch {
namespace {

/// The order in which a plan runs its tasks. The constructor checks that a part waits only for
/// parts with a smaller index, and a node only for nodes with a smaller index. So there is no
/// cycle.
class order {
 public:
  explicit order(recording_plan const& plan) : plan_(plan) {
    for (std::uint32_t i = 0; i < plan.parts.size(); ++i) {
      std::set<std::uint32_t> all;
      for (std::uint32_t const ahead : plan.parts[i].parts_ahead) {
        EXPECT_LT(ahead, i) << "a part waits for a part that is launched later";
        all.insert(ahead);
        all.insert(parts_[ahead].begin(), parts_[ahead].end());
      }
      parts_[i] = std::move(all);
      for (std::uint32_t k = 0; k < plan.parts[i].after.size(); ++k) {
        std::set<std::uint32_t> nodes;
        for (std::uint32_t const ahead : plan.parts[i].after[k]) {
          EXPECT_LT(ahead, k);
          nodes.insert(ahead);
          auto const& before = nodes_[{i, ahead}];
          nodes.insert(before.begin(), before.end());
        }
        nodes_[{i, k}] = std::move(nodes);
      }
    }
  }
  [[nodiscard]] bool is_behind(std::uint32_t later, std::uint32_t earlier) {
    auto const [part, node] = plan_.places[later];
    auto const [ahead_part, ahead_node] = plan_.places[earlier];
    return part == ahead_part ? nodes_[{part, node}].contains(ahead_node)
                              : parts_[part].contains(ahead_part);
  }
  [[nodiscard]] bool is_last(std::uint32_t part) {
    return parts_[part].size() + 1 == plan_.parts.size();
  }

 private:
  recording_plan const& plan_;
  std::map<std::uint32_t, std::set<std::uint32_t>> parts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> nodes_;
};

/// Checks the plan's guarantees: the order of the tasks, one last part, and bounded numbers of
/// roots and successors.
void check(std::vector<task_to_plan> const& tasks, recording_plan const& plan) {
  ASSERT_EQ(plan.places.size(), tasks.size());
  order all{plan};
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    auto const [part, node] = plan.places[i];
    EXPECT_EQ(plan.parts[part].tasks.at(node), i);
    EXPECT_EQ(plan.parts[part].device, tasks[i].device);
    for (std::uint32_t const ahead : tasks[i].after) {
      EXPECT_TRUE(all.is_behind(i, ahead)) << i << " " << ahead;
    }
  }
  EXPECT_TRUE(all.is_last(static_cast<std::uint32_t>(plan.parts.size() - 1)));
  for (planned_part const& each : plan.parts) {
    std::vector<std::size_t> successors(each.tasks.size(), 0);
    std::size_t roots = 0;
    for (auto const& ahead : each.after) {
      roots += ahead.empty() ? 1 : 0;
      EXPECT_EQ(std::set(ahead.begin(), ahead.end()).size(), ahead.size())
          << "the driver refuses duplicate edges";
      for (std::uint32_t const one : ahead) { ++successors[one]; }
    }
    EXPECT_LE(roots, max_side_by_side);
    for (std::uint32_t i = 0; i < successors.size(); ++i) {
      EXPECT_LE(successors[i], max_side_by_side);
      EXPECT_EQ(std::count(each.leaves.begin(), each.leaves.end(), i), successors[i] == 0 ? 1 : 0);
    }
  }
}

// requirement
TEST(RecordingPlan, OneDeviceIsOneGraph) {
  std::vector<task_to_plan> const tasks{{0, {}}, {0, {0}}, {0, {0}}, {0, {1, 2}}};
  recording_plan const plan = plan_recording(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 1u);
  EXPECT_EQ(plan.parts[0].after, (std::vector<std::vector<std::uint32_t>>{{}, {0}, {0}, {1, 2}}));
  EXPECT_EQ(plan.parts[0].leaves, (std::vector<std::uint32_t>{3}));
}

// requirement: if all dependencies between two devices have the same direction, each device has one
// part
TEST(RecordingPlan, OneDirectionIsAGraphADevice) {
  std::vector<task_to_plan> const tasks{{0, {}}, {0, {}}, {1, {0}}, {1, {1, 2}}};
  recording_plan const plan = plan_recording(tasks);
  check(tasks, plan);
  EXPECT_EQ(plan.parts.size(), 2u);
  EXPECT_EQ(plan.parts[1].parts_ahead, (std::vector<std::uint32_t>{0}));
}

// requirement: if a chain returns to an earlier device, each change of device begins a new part.
// With one part for each device, two parts would wait for each other.
TEST(RecordingPlan, WorkThatComesBackIsAGraphMore) {
  std::vector<task_to_plan> const tasks{{0, {}}, {1, {0}}, {0, {1}}, {1, {2}}};
  recording_plan const plan = plan_recording(tasks);
  check(tasks, plan);
  EXPECT_EQ(plan.parts.size(), 4u);
}

// requirement: if a recording has several last parts, an empty part is added after them. So one
// ticket shows the end of a replay.
TEST(RecordingPlan, SeveralEndsAreJoined) {
  std::vector<task_to_plan> const tasks{{2, {}}, {0, {}}, {1, {}}};
  recording_plan const plan = plan_recording(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 4u);
  EXPECT_TRUE(plan.parts.back().tasks.empty());
  EXPECT_EQ(plan.parts.back().device, 2u) << "the device of the first task";
  EXPECT_EQ(plan.parts.back().parts_ahead.size(), 3u);
}

// requirement: many independent tasks form 64 chains
TEST(RecordingPlan, ManyRootsAreChains) {
  std::vector<task_to_plan> const tasks(1000);
  recording_plan const plan = plan_recording(tasks);
  check(tasks, plan);
  for (std::uint32_t i = 64; i < 1000; ++i) {
    EXPECT_EQ(plan.parts[0].after[i], (std::vector<std::uint32_t>{i - 64}));
  }
  EXPECT_EQ(plan.parts[0].leaves.size(), 64u);
}

// requirement: many tasks with the same predecessors form chains
TEST(RecordingPlan, ManySuccessorsAreChains) {
  std::vector<task_to_plan> tasks(1);
  for (int i = 0; i < 500; ++i) { tasks.push_back({0, {0}}); }
  for (int i = 0; i < 300; ++i) { tasks.push_back({0, {0, 1}}); }
  // Now tasks 0 and 1 have the maximum number of successors.
  for (int i = 0; i < 300; ++i) { tasks.push_back({0, {1, 2, 65, 66}}); }
  check(tasks, plan_recording(tasks));
}

// requirement: a recording without tasks has no parts
TEST(RecordingPlan, OfNoTasksIsEmpty) { EXPECT_TRUE(plan_recording({}).parts.empty()); }

// error guess: the plan's guarantees also hold for random dependencies
TEST(RecordingPlan, KeepsItsPromisesForAnyTasks) {
  std::mt19937 random{7};
  auto const below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 60; ++round) {
    std::uint32_t const devices = 1 + below(4);
    std::uint32_t const most_ahead = below(4);
    std::uint32_t const reach = 1 + below(200);  // a small value makes long chains
    std::vector<task_to_plan> tasks;
    for (std::uint32_t i = 0; i < 150; ++i) {
      task_to_plan made{.device = below(devices)};
      for (std::uint32_t k = 0; i != 0 && k < most_ahead; ++k) {
        made.after.push_back(i - 1 - below(std::min(i, reach)));  // may name the same task twice
      }
      tasks.push_back(std::move(made));
    }
    check(tasks, plan_recording(tasks));
    if (HasFailure()) { return; }
  }
}

}  // namespace
}  // namespace flotilla::dispatch
