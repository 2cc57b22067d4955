// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tests the graphs of the patterns, and that a wrong value ends a measurement. A suite with wrong
// dependencies would measure something else than it says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "cell.hpp"
#include "metg.hpp"
#include "pattern.hpp"

namespace flotilla::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Returns the points on which `point` of step `step` depends.
std::vector<std::uint32_t> points_of(std::string const& name, std::uint32_t width,
                                     std::uint32_t step, std::uint32_t point) {
  task_graph const graph = make_graph(pattern_named(name), width, step + 1, {}, 1);
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    if (graph.tasks()[i].step != step || graph.tasks()[i].point != point) { continue; }
    std::vector<std::uint32_t> points;
    for (std::uint32_t const each : graph.predecessors(i)) {
      EXPECT_EQ(graph.tasks()[each].step, step - 1);
      points.push_back(graph.tasks()[each].point);
    }
    return points;
  }
  throw std::logic_error{"no such task"};
}

TEST(BenchPatterns, EachPatternHasItsPredecessors) {
  EXPECT_THAT(points_of("trivial", 16, 3, 5), IsEmpty());
  EXPECT_THAT(points_of("no_comm", 16, 3, 5), ElementsAre(5));
  EXPECT_THAT(points_of("stencil_1d", 16, 3, 0), ElementsAre(0, 1));
  EXPECT_THAT(points_of("stencil_1d", 16, 3, 5), ElementsAre(4, 5, 6));
  EXPECT_THAT(points_of("stencil_1d", 16, 3, 15), ElementsAre(14, 15));
  EXPECT_THAT(points_of("nearest", 16, 3, 5), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(points_of("fft", 16, 3, 5), ElementsAre(5, 13));
  EXPECT_THAT(points_of("fft", 16, 4, 5), ElementsAre(4, 5));
  EXPECT_THAT(points_of("fft", 12, 4, 11), ElementsAre(9, 11));
  EXPECT_THAT(points_of("fft", 12, 5, 11), ElementsAre(11));  // there is no point 15
  EXPECT_THAT(points_of("spread", 16, 3, 5), ElementsAre(1, 5, 8, 11, 14));
  EXPECT_THAT(points_of("all_to_all", 4, 2, 3), ElementsAre(0, 1, 2, 3));
}

TEST(BenchPatterns, TheTreeGrowsAndShrinks) {
  EXPECT_THAT(points_of("tree", 16, 4, 15), ElementsAre(7));
  EXPECT_THAT(points_of("tree", 16, 5, 7), ElementsAre(14, 15));
  EXPECT_THAT(points_of("tree", 16, 8, 0), ElementsAre(0, 1));
  EXPECT_THAT(points_of("tree", 16, 9, 1), ElementsAre(0));
  // 1 + 2 + 4 + 8 + 16 + 8 + 4 + 2 points in each period
  EXPECT_EQ(make_graph(pattern_named("tree"), 16, 16, {}, 1).tasks().size(), 90u);
  EXPECT_THAT(points_of("tree", 5, 3, 4), ElementsAre(2));
  EXPECT_THAT(points_of("tree", 5, 4, 2), ElementsAre(4));
}

TEST(BenchPatterns, RandomPointsAreThreeToFiveAndDependOnTheSeed) {
  task_graph const graph = make_graph(pattern_named("random"), 16, 8, {}, 1);
  task_graph const other = make_graph(pattern_named("random"), 16, 8, {}, 2);
  for (std::size_t i = 16; i < graph.tasks().size(); ++i) {
    EXPECT_GE(graph.tasks()[i].edges, 3u);
    EXPECT_LE(graph.tasks()[i].edges, 5u);
  }
  EXPECT_EQ(graph.expected(),
            make_graph(pattern_named("random"), 16, 8, {.irregular = true}, 1).expected());
  EXPECT_NE(graph.expected(), other.expected());
}

TEST(BenchPatterns, NarrowWidthsHaveNoPredecessorTwice) {
  for (pattern const& each : all_patterns()) {
    for (std::uint32_t const width : {1u, 2u, 3u}) {
      task_graph const graph = make_graph(each, width, 6, {}, 1);
      for (task_graph::task const& task : graph.tasks()) {
        EXPECT_LE(task.edges, width) << each.name;
      }
    }
  }
}

TEST(BenchPatterns, TheCriticalPathIsTheLongestPath) {
  task_graph graph;
  graph.add(0, 0, 10, {});
  graph.add(0, 1, 30, {});
  graph.add(1, 0, 5, std::vector<std::uint32_t>{0, 1});
  graph.add(1, 1, 1, std::vector<std::uint32_t>{0});
  EXPECT_EQ(graph.critical_path(), 35);
  EXPECT_EQ(graph.total_length(), 46);
  EXPECT_THAT(graph.expected(), ElementsAre(1, 1, 3, 2));
}

TEST(BenchPatterns, IrregularLengthsAreFrom1To50Us) {
  task_graph const graph = make_graph(pattern_named("no_comm"), 64, 16, {.irregular = true}, 1);
  for (task_graph::task const& each : graph.tasks()) {
    EXPECT_GE(each.nanoseconds, 1000u);
    EXPECT_LE(each.nanoseconds, 50000u);
  }
}

TEST(BenchPatterns, FansHaveTheirEdges) {
  task_graph const in = make_fan_in(64, 3);
  EXPECT_EQ(in.edges(), 3u * 64);
  EXPECT_EQ(in.expected().back(), 65u);
  EXPECT_EQ(in.argument(129, nullptr).listed[0], 65u);
  task_graph const out = make_fan_out(64, 3);
  EXPECT_EQ(out.edges(), 3u * 64);
  EXPECT_EQ(out.expected().back(), 2u);
}

TEST(BenchPatterns, PredecessorsThatTheKernelCannotFindAreRefused) {
  task_graph graph;
  for (std::uint32_t i = 0; i < 20; ++i) { graph.add(0, i, 0, {}); }
  EXPECT_THROW(graph.add(1, 0, 0, std::vector<std::uint32_t>{0, 2, 4, 6, 8, 10, 12, 14, 16}),
               std::logic_error);
  EXPECT_THROW(graph.add(1, 0, 0, std::vector<std::uint32_t>{20}), std::logic_error);
}

/// Writes the expected values, except for one task.
class fake_variant final : public variant {
 public:
  explicit fake_variant(std::optional<std::size_t> wrong) : wrong_{wrong} {}
  void prepare(task_graph const& graph) override { values_ = graph.expected(); }
  void clear() override {}
  void run() override { ++runs; }
  void read(std::vector<std::uint64_t>& values) override {
    values = values_;
    if (wrong_) { ++values[*wrong_]; }
  }
  int runs = 0;

 private:
  std::optional<std::size_t> wrong_;
  std::vector<std::uint64_t> values_;
};

TEST(BenchPatterns, AWrongValueEndsTheMeasurement) {
  task_graph const graph = make_graph(pattern_named("no_comm"), 4, 4, {}, 1);
  cell cell = describe_cell("no_comm", 4, 4, {}, graph, true);
  variant_set::member const wrong{"bad", std::make_unique<fake_variant>(6)};
  try {
    measure(cell, graph, {&wrong}, 1, clock::now());
    FAIL() << "the wrong value was not found";
  } catch (std::runtime_error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("no_comm of width 4, variant bad"));
    EXPECT_THAT(error.what(), HasSubstr("step 1, point 2: it is 3, but must be 2"));
  }
}

TEST(BenchPatterns, AMeasurementHasAWarmUpAndObeysTheDeadline) {
  task_graph const graph = make_graph(pattern_named("no_comm"), 4, 4, {.nanoseconds = 1000}, 1);
  variant_set::member const member{"good", std::make_unique<fake_variant>(std::nullopt)};
  auto& fake = dynamic_cast<fake_variant&>(*member.how);
  cell in_time = describe_cell("no_comm", 4, 4, {.nanoseconds = 1000}, graph, true);
  measure(in_time, graph, {&member}, 3, clock::now() + std::chrono::hours{1});
  EXPECT_EQ(fake.runs, 4);
  EXPECT_EQ(in_time.times[0].seconds.size(), 3u);
  cell late = describe_cell("no_comm", 4, 4, {}, graph, true);
  measure(late, graph, {&member}, 3, clock::now() - std::chrono::hours{1});
  EXPECT_EQ(late.times[0].seconds.size(), 1u);
  EXPECT_DOUBLE_EQ(in_time.efficiency(8e-6).value(), 0.5);
  EXPECT_FALSE(in_time.ratio().has_value());
}

TEST(BenchMetg, FindsTheLengthWithHalfEfficiency) {
  auto const overhead = [](double us) {
    return [=](double length) { return std::optional{length / (length + us)}; };
  };
  EXPECT_NEAR(find_metg(2048, overhead(30)).value(), 30, 3);
  EXPECT_EQ(find_metg(2048, overhead(0.5)).value(), metg_min_us);
  EXPECT_EQ(find_metg(20, overhead(30)).value(), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(find_metg(20, [](double) { return std::optional<double>{}; }).has_value());
}

}  // namespace
}  // namespace flotilla::bench
