// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tests which device runs a task. A value that is not mirrored although the other device needs it
// would fail the check of the values, but a value that is mirrored without need would only make the
// measurement wrong.

#include <gtest/gtest.h>

#include "distribution.hpp"
#include "pattern.hpp"

namespace flotilla::bench {
namespace {

TEST(BenchDistribution, EachDeviceHasOneBlockOfPoints) {
  task_graph const graph = make_graph(pattern_named("no_comm"), 5, 2, {}, 1);
  distribution const got{graph, 2};
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    EXPECT_EQ(got.device(i), graph.tasks()[i].point < 3 ? 0u : 1u) << i;
    EXPECT_FALSE(got.is_mirrored(i)) << i;
  }
}

TEST(BenchDistribution, OnlyValuesThatTheOtherDeviceNeedsAreMirrored) {
  task_graph const graph = make_graph(pattern_named("stencil_1d"), 8, 3, {}, 1);
  distribution const got{graph, 2};
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    task_graph::task const& task = graph.tasks()[i];
    bool const at_the_border = task.point == 3 || task.point == 4;
    EXPECT_EQ(got.is_mirrored(i), at_the_border && task.step != 2) << i;
  }
}

TEST(BenchDistribution, OneDeviceRunsEverything) {
  task_graph const graph = make_graph(pattern_named("all_to_all"), 8, 3, {}, 1);
  distribution const got{graph, 1};
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    EXPECT_EQ(got.device(i), 0u);
    EXPECT_FALSE(got.is_mirrored(i));
  }
}

}  // namespace
}  // namespace flotilla::bench
