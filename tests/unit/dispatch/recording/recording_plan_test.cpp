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

/// The tasks that have ended when a node of a part begins, or, for an exchange, when it has told
/// its level, and when it has ended.
struct reached {
  std::set<std::uint32_t> told, ended;
};

std::uint32_t exchange_at(planned_part const& part, std::uint32_t level) {
  auto const found =
      std::find_if(part.exchanges.begin(), part.exchanges.end(),
                   [&](planned_exchange const& each) { return each.level == level; });
  return static_cast<std::uint32_t>(part.tasks.size() +
                                    static_cast<std::size_t>(found - part.exchanges.begin()));
}

/// Executes the plan: level by level, first what exchanges tell, then what they wait for.
std::vector<std::vector<reached>> execute(recording_plan const& plan) {
  std::vector<std::vector<reached>> nodes;
  std::uint32_t end = 0;
  for (planned_part const& each : plan.parts) {
    nodes.emplace_back(each.levels.size());
    for (std::uint32_t const level : each.levels) { end = std::max(end, level + 1); }
  }
  auto const visit = [&](std::uint32_t level, auto const& what) {
    for (std::uint32_t part = 0; part < plan.parts.size(); ++part) {
      planned_part const& in = plan.parts[part];
      for (std::uint32_t node = 0; node < in.levels.size(); ++node) {
        if (in.levels[node] == level) { what(part, node); }
      }
    }
  };
  for (std::uint32_t level = 0; level < end; ++level) {
    visit(level, [&](std::uint32_t part, std::uint32_t node) {
      planned_part const& in = plan.parts[part];
      reached& now = nodes[part][node];
      for (std::uint32_t const ahead : in.after[node]) {
        ASSERT_LT(in.levels[ahead], level);
        now.told.insert(nodes[part][ahead].ended.begin(), nodes[part][ahead].ended.end());
        if (ahead < in.tasks.size()) { now.told.insert(in.tasks[ahead]); }
      }
      now.ended = now.told;
    });
    visit(level, [&](std::uint32_t part, std::uint32_t node) {
      planned_part const& in = plan.parts[part];
      if (node < in.tasks.size()) { return; }
      planned_exchange const& what = in.exchanges[node - in.tasks.size()];
      for (planned_exchange::need const& each : what.needs) {
        ASSERT_LE(each.level, what.level) << "it could wait for an exchange that waits for it";
        ASSERT_NE(each.part, part);
        std::uint32_t const other = exchange_at(plan.parts[each.part], each.level);
        ASSERT_LT(other, nodes[each.part].size()) << "no exchange tells the level";
        std::set<std::uint32_t> const& told = nodes[each.part][other].told;
        nodes[part][node].ended.insert(told.begin(), told.end());
      }
    });
  }
  return nodes;
}

/// Checks the plan's guarantees: every task is in the part of its device and runs after its
/// predecessors, and the last part ends after all others.
void check(std::vector<task> const& tasks, recording_plan const& plan) {
  ASSERT_EQ(plan.places.size(), tasks.size());
  std::set<unsigned> devices;
  std::size_t const parts = plan.parts.size() == 1 ? 1 : plan.parts.size() - 1;
  for (std::size_t i = 0; i < parts; ++i) {
    EXPECT_TRUE(devices.insert(plan.parts[i].device).second) << "two parts of one device";
    EXPECT_TRUE(plan.parts[i].parts_ahead.empty());
  }
  if (parts != 1) {
    EXPECT_TRUE(plan.parts.back().tasks.empty());
    EXPECT_EQ(plan.parts.back().parts_ahead.size(), parts);
  }
  std::vector<std::vector<reached>> const nodes = execute(plan);
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    auto const [part, index] = plan.places[i];
    EXPECT_EQ(plan.parts[part].tasks.at(index), i);
    EXPECT_EQ(plan.parts[part].device, tasks[i].device);
    for (std::uint32_t const ahead : tasks[i].after) {
      EXPECT_TRUE(nodes[part][index].ended.contains(ahead)) << i << " after " << ahead;
    }
  }
}

std::vector<std::uint32_t> exchange_levels(planned_part const& part) {
  std::vector<std::uint32_t> found;
  for (planned_exchange const& each : part.exchanges) { found.push_back(each.level); }
  return found;
}

// requirement
TEST(RecordingPlan, OneDeviceIsOneGraph) {
  std::vector<task> const tasks{{0, {}}, {0, {0}}, {0, {0}}, {0, {1, 2}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 1u);
  EXPECT_EQ(plan.parts[0].tasks, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// requirement: each device has one graph. If all dependencies between two devices have the same
// direction, the first device does not wait for the second, except to begin
TEST(RecordingPlan, OneDirectionWaitsOnce) {
  std::vector<task> const tasks{{0, {}}, {0, {0}}, {1, {1}}, {1, {2}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 3u);
  EXPECT_EQ(exchange_levels(plan.parts[0]), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(plan.parts[0].exchanges[1].needs.empty());
  EXPECT_EQ(exchange_levels(plan.parts[1]), (std::vector<std::uint32_t>{0, 2}));
  ASSERT_EQ(plan.parts[1].exchanges[1].needs.size(), 1u);
  EXPECT_EQ(plan.parts[1].exchanges[1].needs[0].level, 2u);
}

// requirement: if a chain goes from one device to the other and back, each device still has one
// graph, with an exchange for each change of device
TEST(RecordingPlan, WorkThatComesBackIsAnExchangeMore) {
  std::vector<task> const tasks{{0, {}}, {1, {0}}, {0, {1}}, {1, {2}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  ASSERT_EQ(plan.parts.size(), 3u);
  EXPECT_EQ(exchange_levels(plan.parts[0]), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// requirement: tasks of a step that need nothing of other devices do not wait for them
TEST(RecordingPlan, OnlyTasksThatNeedOtherDevicesWait) {
  std::vector<task> const tasks{{0, {}},  {0, {}},     {1, {}},     {1, {}},
                                {0, {0}}, {0, {1, 2}}, {1, {1, 2}}, {1, {3}}};
  recording_plan const plan = plan_of(tasks);
  check(tasks, plan);
  auto const of = [&](std::uint32_t i) {
    auto const [part, index] = plan.places[i];
    auto const ahead = plan.parts[part].after[index];
    return std::vector<std::uint32_t>(ahead.begin(), ahead.end());
  };
  EXPECT_EQ(of(4), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(of(5).size(), 2u) << "its predecessor on this device, and the exchange";
}

// requirement: an empty part runs after the parts of all devices. So one ticket shows the end of a
// replay.
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
