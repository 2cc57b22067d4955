// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The graph of the entries in `after`: paths, and which tasks it forgets.

#include "dispatch/check/task_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla::dispatch {
namespace {

using ::testing::UnorderedElementsAre;

class TaskGraph : public ::testing::Test {
 protected:
  task_number add(std::vector<task_number> const& after = {}) {
    return graph_.add({static_cast<std::uint32_t>(graph_.next()), 1}, after);
  }
  bool leads(task_number from, task_number to) {
    graph_.mark_ancestors({&to, 1}, {&from, 1});
    return graph_.is_marked(from);
  }
  task_graph graph_;
};

TEST_F(TaskGraph, PathsLeadOverSeveralTasks) {
  task_number const a = add(), b = add({a}), c = add({b}), other = add();
  EXPECT_TRUE(leads(a, c));
  EXPECT_TRUE(leads(b, c));
  EXPECT_FALSE(leads(other, c));
  EXPECT_FALSE(leads(c, a));
}

TEST_F(TaskGraph, AncestorsOfSeveralTasksAreMarkedTogether) {
  task_number const a = add(), b = add(), c = add({a}), d = add({b});
  std::vector<task_number> const both{c, d};
  std::vector<task_number> const wanted{a, b};
  graph_.mark_ancestors(both, wanted);
  for (task_number const each : {a, b, c, d}) { EXPECT_TRUE(graph_.is_marked(each)); }
  EXPECT_THAT(graph_.with_ancestors(d), UnorderedElementsAre(b, d));
}

// A search over a long chain finds its oldest task, and stops early if it looks for a recent one.
TEST_F(TaskGraph, SearchStopsWhenItHasFoundAllWantedTasks) {
  task_number const oldest = add();
  task_number recent = oldest;
  for (int i = 0; i < 1000; ++i) { recent = add({recent}); }
  task_number const last = add({recent});
  EXPECT_TRUE(leads(oldest, last));
  EXPECT_TRUE(leads(recent, last));
  EXPECT_FALSE(graph_.is_marked(oldest));
}

TEST_F(TaskGraph, NamesAreForgottenWithTheirTasks) {
  task_number const a = add();
  EXPECT_EQ(graph_.find({static_cast<std::uint32_t>(a), 1}), a);
  EXPECT_EQ(graph_.find({static_cast<std::uint32_t>(a), 2}), std::nullopt);
  graph_.remove(a);
  EXPECT_EQ(graph_.find({static_cast<std::uint32_t>(a), 1}), std::nullopt);
  graph_.remove(a);
  EXPECT_EQ(graph_.size(), 0u);
}

// A task without accesses is needed as long as a path from a needed task leads over it.
TEST_F(TaskGraph, TasksBetweenNeededTasksStay) {
  task_number const a = add(), b = add({a}), c = add({b}), unneeded = add();
  auto const is_a = [a](task_number task) { return task == a; };
  graph_.remove_unneeded(is_a);
  EXPECT_EQ(graph_.size(), 3u);
  EXPECT_FALSE(leads(unneeded, unneeded));
  EXPECT_TRUE(leads(a, c));
  graph_.remove_unneeded([](task_number) { return false; });
  EXPECT_EQ(graph_.size(), 0u);
  EXPECT_EQ(graph_.oldest(), graph_.next());
}

}  // namespace
}  // namespace flotilla::dispatch
