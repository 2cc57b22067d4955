// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/node_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace flotilla::dispatch {
namespace {

using list = std::vector<std::uint32_t>;

struct tasks {
  index_lists after;
  std::vector<std::uint32_t> levels;
  std::vector<task_share> shares;

  /// Adds a task. @return its index.
  std::uint32_t add(list const& ahead, std::uint32_t form = 1, std::uint32_t blocks = 1,
                    std::uint32_t min_on_level = 0) {
    std::uint32_t level = 0;
    for (std::uint32_t const each : ahead) {
      after.push(each);
      level = std::max(level, levels[each] + 1);
    }
    after.close();
    levels.push_back(level);
    shares.push_back({form, blocks, min_on_level});
    return static_cast<std::uint32_t>(shares.size() - 1);
  }
  [[nodiscard]] node_plan plan() const { return plan_nodes(after, levels, shares); }
};

list of(std::span<std::uint32_t const> from) { return {from.begin(), from.end()}; }

std::size_t edges(node_plan const& plan) { return plan.after.indices(); }

/// Checks the plan's guarantees: each task is in one node, a task is behind its predecessors, the
/// tasks of a grid have one form and fit, and the numbers of roots and successors are bounded.
void check(tasks const& in, node_plan const& plan) {
  std::size_t const nodes = plan.tasks.size();
  ASSERT_EQ(plan.after.size(), nodes);
  std::vector<std::set<std::uint32_t>> ahead(nodes);
  std::vector<std::size_t> successors(nodes, 0);
  std::vector<int> seen(in.shares.size(), 0);
  std::size_t roots = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    list const direct = of(plan.after[node]);
    EXPECT_EQ(std::set(direct.begin(), direct.end()).size(), direct.size())
        << "the driver refuses duplicate edges";
    roots += direct.empty() ? 1 : 0;
    for (std::uint32_t const each : direct) {
      ASSERT_LT(each, node);
      ++successors[each];
      ahead[node].insert(each);
      ahead[node].insert(ahead[each].begin(), ahead[each].end());
    }
    list const inside = of(plan.tasks[node]);
    ASSERT_FALSE(inside.empty());
    EXPECT_TRUE(std::is_sorted(inside.begin(), inside.end()));
    std::uint64_t blocks = 0;
    for (std::uint32_t const task : inside) {
      ++seen[task];
      blocks += in.shares[task].blocks;
      EXPECT_EQ(plan.node_of[task], node);
      for (std::uint32_t const before : in.after[task]) {
        EXPECT_TRUE(ahead[node].contains(plan.node_of[before])) << task << " after " << before;
      }
      if (inside.size() == 1) { continue; }
      EXPECT_NE(in.shares[task].form, 0u);
      EXPECT_EQ(in.shares[task].form, in.shares[inside[0]].form);
    }
    if (inside.size() == 1) { continue; }
    EXPECT_GE(inside.size(), node_plan::min_tasks);
    EXPECT_LE(inside.size(), node_plan::max_tasks);
    EXPECT_LE(blocks, node_plan::max_blocks);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(seen.size()));
  EXPECT_LE(roots, max_side_by_side);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    EXPECT_LE(successors[node], max_side_by_side);
    EXPECT_EQ(std::count(plan.leaves.begin(), plan.leaves.end(), node),
              successors[node] == 0 ? 1 : 0);
  }
}

node_plan checked(tasks const& in) {
  node_plan plan = in.plan();
  check(in, plan);
  return plan;
}

// requirement: independent tasks of one form are one grid
TEST(NodePlan, IndependentTasksAreAGrid) {
  tasks in;
  for (int i = 0; i < 1000; ++i) { in.add({}); }
  node_plan const plan = checked(in);
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.tasks[0].size(), 1000u);
  EXPECT_EQ(plan.leaves, list{0});
}

// requirement: tasks of different forms, and tasks without a form, are in different nodes
TEST(NodePlan, FormsAreApart) {
  tasks in;
  for (std::uint32_t i = 0; i < 30; ++i) { in.add({}, i % 3); }
  node_plan const plan = checked(in);
  EXPECT_EQ(plan.tasks.size(), 12u) << "ten tasks without a form, and two grids";
}

// requirement: fewer tasks than min_tasks are no grid
TEST(NodePlan, FewTasksAreNodesOfTheirOwn) {
  for (std::uint32_t count = 1; count <= 6; ++count) {
    tasks in;
    for (std::uint32_t i = 0; i < count; ++i) { in.add({}); }
    EXPECT_EQ(checked(in).tasks.size(), count < node_plan::min_tasks ? count : 1) << count;
  }
}

// requirement: if a form needs more tasks on a level than the level has, they are no grid
TEST(NodePlan, SmallLevelsOfAFormThatNeedsManyAreNoGrids) {
  for (std::uint32_t count : {63u, 64u}) {
    tasks in;
    for (std::uint32_t i = 0; i < count; ++i) { in.add({}, 1, 1, 64); }
    for (std::uint32_t i = 0; i < 10; ++i) { in.add({}, 2); }
    EXPECT_EQ(checked(in).tasks.size(), 1 + (count < 64 ? count : 1)) << count;
  }
}

// requirement: each step of a stencil is a grid that runs after the grid of the step before, by one
// edge
TEST(NodePlan, AStepOfAStencilIsAGrid) {
  constexpr std::uint32_t width = 16, steps = 50;
  tasks in;
  for (std::uint32_t i = 0; i < width * steps; ++i) {
    list ahead;
    for (std::uint32_t k = 0; i >= width && k < 3; ++k) {
      ahead.push_back(i / width * width - width + (i + width - 1 + k) % width);
    }
    in.add(ahead);
  }
  node_plan const plan = checked(in);
  ASSERT_EQ(plan.tasks.size(), steps);
  EXPECT_EQ(edges(plan), steps - 1);
}

// requirement: the levels of a tree are grids
TEST(NodePlan, LevelsOfATreeAreGrids) {
  tasks in;
  in.add({});
  for (std::uint32_t i = 1; i < 255; ++i) { in.add({(i - 1) / 2}); }
  node_plan const plan = checked(in);
  EXPECT_EQ(plan.tasks.size(), 1u + 2u + 4u + 5u) << "three levels are too small for grids";
}

// requirement: a task does not wait for the predecessors of other tasks, if there are few groups
TEST(NodePlan, TasksWithOtherPredecessorsAreAnotherGrid) {
  tasks in;
  std::uint32_t const slow = in.add({}, 0);
  std::uint32_t const fast = in.add({}, 0);
  for (std::uint32_t i = 0; i < 100; ++i) { in.add({i % 2 == 0 ? slow : fast}); }
  for (std::uint32_t i = 0; i < 3; ++i) { in.add({slow, fast}); }
  node_plan const plan = checked(in);
  ASSERT_EQ(plan.tasks.size(), 2u + 2u + 3u);
  EXPECT_EQ(of(plan.after[plan.node_of[2]]), list{slow});
  EXPECT_EQ(of(plan.after[plan.node_of[3]]), list{fast});
  EXPECT_EQ(of(plan.after[plan.node_of[102]]), (list{slow, fast}));
}

// requirement: many small groups with different predecessors are one grid, which runs after all of
// them, and a large group stays apart
TEST(NodePlan, ManySmallGroupsAreOneGrid) {
  tasks in;
  for (std::uint32_t i = 0; i < 20; ++i) { in.add({}, 0); }
  for (std::uint32_t i = 0; i < 60; ++i) { in.add({i % 20}); }
  for (std::uint32_t i = 0; i < 10; ++i) { in.add({0, 1}); }
  node_plan const plan = checked(in);
  ASSERT_EQ(plan.tasks.size(), 22u);
  EXPECT_EQ(plan.after[plan.node_of[20]].size(), 20u);
  EXPECT_EQ(of(plan.after[plan.node_of[80]]), (list{0, 1}));
}

// requirement: an irregular recording of several forms has few nodes and few edges
TEST(NodePlan, IrregularLevelsHaveFewNodes) {
  constexpr std::uint32_t width = 64, steps = 100;
  std::mt19937 random{3};
  tasks in;
  for (std::uint32_t i = 0; i < width * steps; ++i) {
    list ahead;
    for (int k = 0; i >= width && k < 5; ++k) {
      ahead.push_back(i / width * width - width + static_cast<std::uint32_t>(random() % width));
    }
    in.add(ahead, 1 + static_cast<std::uint32_t>(random() % 3));
  }
  node_plan const plan = checked(in);
  EXPECT_LE(plan.tasks.size(), steps * 3 * 5);
  EXPECT_LE(edges(plan), steps * 3 * 3 * 5);
}

// requirement: a predecessor that another predecessor waits for is no edge, whether it waits
// directly or not
TEST(NodePlan, ImpliedEdgesAreLeftOut) {
  tasks in;
  list all;
  for (std::uint32_t i = 0; i < 30; ++i) { all.push_back(in.add(all, 0)); }  // after all earlier
  EXPECT_EQ(edges(checked(in)), 29u);
  // Two chains: each task after both tasks before it in its chain.
  tasks chains;
  for (std::uint32_t i = 0; i < 40; ++i) {
    chains.add(i < 2 ? list{} : i < 4 ? list{i - 2} : list{i - 2, i - 4}, 0);
  }
  EXPECT_EQ(edges(checked(chains)), 38u);
}

// requirement: many independent tasks without a form are 64 chains
TEST(NodePlan, ManyRootsAreChains) {
  tasks in;
  for (int i = 0; i < 1000; ++i) { in.add({}, 0); }
  node_plan const plan = checked(in);
  for (std::uint32_t i = 64; i < 1000; ++i) { EXPECT_EQ(of(plan.after[i]), list{i - 64}); }
  EXPECT_EQ(plan.leaves.size(), 64u);
}

// requirement: many tasks with the same predecessors form chains
TEST(NodePlan, ManySuccessorsAreChains) {
  tasks in;
  in.add({}, 0);
  for (int i = 0; i < 500; ++i) { in.add({0}, 0); }
  for (int i = 0; i < 300; ++i) { in.add({0, 1}, 0); }
  // Now tasks 0 and 1 have the maximum number of successors.
  for (int i = 0; i < 300; ++i) { in.add({1, 2, 65, 66}, 0); }
  checked(in);
}

// requirement: a level that is too large for one grid is several grids
TEST(NodePlan, LargeLevelsAreSeveralGrids) {
  tasks many;
  for (std::uint32_t i = 0; i < 2 * node_plan::max_tasks + 2; ++i) { many.add({}); }
  node_plan const plan = many.plan();
  EXPECT_EQ(plan.tasks.size(), 4u) << "two grids, and two tasks that are too few for a grid";
  tasks large;
  for (int i = 0; i < 3000; ++i) { large.add({}, 1, 1000); }
  EXPECT_EQ(checked(large).tasks.size(), 3u);
  tasks too_large;
  for (int i = 0; i < 5; ++i) { too_large.add({}, 1, node_plan::max_blocks + 1); }
  EXPECT_EQ(too_large.plan().tasks.size(), 5u);
}

// requirement
TEST(NodePlan, OfNoTasksIsEmpty) { EXPECT_EQ(tasks{}.plan().tasks.size(), 0u); }

// error guess: the plan's guarantees also hold for random tasks
TEST(NodePlan, KeepsItsPromisesForAnyTasks) {
  std::mt19937 random{7};
  auto const below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 200; ++round) {
    std::uint32_t const forms = below(4);
    std::uint32_t const most_ahead = below(6);
    std::uint32_t const reach = 1 + below(200);  // a small value makes long chains
    std::uint32_t const most_blocks = below(5) == 0 ? 400'000 : 3;
    tasks in;
    for (std::uint32_t i = 0; i < 300; ++i) {
      list ahead;
      for (std::uint32_t k = 0; i != 0 && below(50) != 0 && k < most_ahead; ++k) {
        ahead.push_back(i - 1 - below(std::min(i, reach)));  // may name the same task twice
      }
      in.add(ahead, below(forms + 1), 1 + below(most_blocks), round % 7 * 10);
    }
    checked(in);
    if (HasFailure()) { return; }
  }
}

}  // namespace
}  // namespace flotilla::dispatch
