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

struct task {
  unsigned device = 0;
  std::vector<std::uint32_t> after{};
};

task_order order_of(std::vector<task> const& tasks) {
  task_order made;
  for (task const& each : tasks) {
    for (std::uint32_t const ahead : each.after) { made.add_ahead(ahead); }
    made.add(each.device);
  }
  return made;
}

recording_plan plan_of(std::vector<task> const& tasks) { return plan_recording(order_of(tasks)); }

/// Checks the plan's guarantees: every task is in one part of its device, its predecessors are
/// ahead of it, a part waits only for parts with a smaller index, and one part runs after all
/// others.
void check(std::vector<task> const& tasks, recording_plan const& plan) {
  ASSERT_EQ(plan.places.size(), tasks.size());
  std::vector<std::set<std::uint32_t>> ahead_of(plan.parts.size());
  for (std::uint32_t i = 0; i < plan.parts.size(); ++i) {
    for (std::uint32_t const ahead : plan.parts[i].parts_ahead) {
      ASSERT_LT(ahead, i) << "a part waits for a part that is launched later";
      ahead_of[i].insert(ahead);
      ahead_of[i].insert(ahead_of[ahead].begin(), ahead_of[ahead].end());
    }
  }
  EXPECT_EQ(ahead_of.back().size() + 1, plan.parts.size()) << "the last part is not the last";
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    auto const [part, index] = plan.places[i];
    planned_part const& in = plan.parts[part];
    EXPECT_EQ(in.tasks.at(index), i);
    EXPECT_EQ(in.device, tasks[i].device);
    std::vector<std::uint32_t> inside;
    for (std::uint32_t const ahead : tasks[i].after) {
      auto const there = plan.places[ahead];
      if (there.part == part) {
        EXPECT_LT(there.index, index);
        inside.push_back(there.index);
      } else {
        EXPECT_TRUE(ahead_of[part].contains(there.part)) << i << " " << ahead;
      }
    }
    auto const held = in.after[index];
    EXPECT_EQ(std::vector<std::uint32_t>(held.begin(), held.end()), inside);
  }
}

// requirement
TEST(RecordingPlan, OneDeviceIsOneGraph) {
  std::vector<task> const tasks{{0, {}}, {0, {0}}, {0, {0}}, {0, {1, 2}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 1u);
  EXPECT_EQ(plan.parts[0].tasks, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// requirement: if all dependencies between two devices have the same direction, each device has one
// part
TEST(RecordingPlan, OneDirectionIsAGraphADevice) {
  std::vector<task> const tasks{{0, {}}, {0, {}}, {1, {0}}, {1, {1, 2}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  EXPECT_EQ(plan.parts.size(), 2u);
  EXPECT_EQ(plan.parts[1].parts_ahead, (std::vector<std::uint32_t>{0}));
}

// requirement: if a chain returns to an earlier device, each change of device begins a new part.
// With one part for each device, two parts would wait for each other.
TEST(RecordingPlan, WorkThatComesBackIsAGraphMore) {
  std::vector<task> const tasks{{0, {}}, {1, {0}}, {0, {1}}, {1, {2}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  EXPECT_EQ(plan.parts.size(), 4u);
}

// requirement: if a recording has several last parts, an empty part is added after them. So one
// ticket shows the end of a replay.
TEST(RecordingPlan, SeveralEndsAreJoined) {
  std::vector<task> const tasks{{2, {}}, {0, {}}, {1, {}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 4u);
  EXPECT_TRUE(plan.parts.back().tasks.empty());
  EXPECT_EQ(plan.parts.back().device, 2u) << "the device of the first task";
  EXPECT_EQ(plan.parts.back().parts_ahead.size(), 3u);
}

// requirement: a recording without tasks has no parts
TEST(RecordingPlan, OfNoTasksIsEmpty) { EXPECT_TRUE(plan_of({}).parts.empty()); }

// requirement: what a task that was not added has left does not become a predecessor of another
// task
TEST(RecordingPlan, DroppedPredecessorsAreForgotten) {
  task_order tasks;
  tasks.add(0);
  tasks.add_ahead(0);
  tasks.drop();
  tasks.add(0);
  EXPECT_EQ(tasks.after(1).size(), 0u);
}

// error guess: the plan's guarantees also hold for random dependencies
TEST(RecordingPlan, KeepsItsPromisesForAnyTasks) {
  std::mt19937 random{7};
  auto const below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 60; ++round) {
    std::uint32_t const devices = 1 + below(4);
    std::uint32_t const most_ahead = below(4);
    std::uint32_t const reach = 1 + below(200);  // a small value makes long chains
    std::vector<task> tasks;
    for (std::uint32_t i = 0; i < 150; ++i) {
      task made{.device = below(devices)};
      for (std::uint32_t k = 0; i != 0 && k < most_ahead; ++k) {
        made.after.push_back(i - 1 - below(std::min(i, reach)));  // may name the same task twice
      }
      tasks.push_back(std::move(made));
    }
    check(tasks, plan_of(tasks));
    if (HasFailure()) { return; }
  }
}

}  // namespace
}  // namespace flotilla::dispatch
