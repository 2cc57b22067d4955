// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tests the verdicts. A verdict that says "met" wrongly would be worse than no verdict.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "pattern_rows.hpp"
#include "verdict.hpp"

namespace flotilla::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A cell of 100 tasks, whose runs took these times.
cell cell_of(std::string pattern, double flotilla_us, double streams_us) {
  cell made{.pattern = std::move(pattern), .width = 64, .steps = 10};
  made.tasks = 100;
  made.edges = 200;
  made.critical_path_ns = 100'000;
  made.times = {{.variant = flotilla_variant, .seconds = {flotilla_us * 1e-6}},
                {.variant = control_variant, .seconds = {streams_us * 1e-6}}};
  return made;
}

metg_result metg_of(char const* pattern, std::uint32_t width, char const* variant, double us) {
  return {pattern, width, variant, us, 2048};
}

/// Returns the only verdict on these results.
verdict judge_one(patterns_results const& results, bool on_gpus = true) {
  std::vector<verdict> const all = judge(results, 1, on_gpus);
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? verdict{} : all.front();
}

TEST(BenchVerdict, ByHandNamesTheWorstCellAndEachMiss) {
  patterns_results results{.rows = {by_hand_row}};
  results.cells = {cell_of("fft", 105, 100), cell_of("tree", 130, 100), cell_of("random", 120, 100),
                   cell_of("trivial", 1, 100)};
  verdict const got = judge_one(results);
  EXPECT_EQ(got.row, "by_hand");
  EXPECT_DOUBLE_EQ(got.value.value(), 1.3);
  EXPECT_EQ(got.worst, "tree, width 64, 10 steps, kernel 0 us");
  EXPECT_THAT(got.missed, ElementsAre("tree, width 64, 10 steps, kernel 0 us",
                                      "random, width 64, 10 steps, kernel 0 us"));
  EXPECT_EQ(got.measured, 4u);
  EXPECT_EQ(got.met, false);
  results.cells.resize(1);
  EXPECT_EQ(judge_one(results).met, true);
}

TEST(BenchVerdict, CellsWithoutTheControlAreNotJudged) {
  patterns_results results{.rows = {by_hand_row}};
  results.cells = {cell_of("fft", 105, 100)};
  results.cells[0].times.pop_back();
  EXPECT_THAT(judge(results, 1, true), IsEmpty());
}

TEST(BenchVerdict, MissingMeasurementsLeaveTheVerdictOpenUnlessOneMisses) {
  patterns_results results{.rows = {by_hand_row}, .incomplete_rows = {by_hand_row}};
  EXPECT_FALSE(judge_one(results).value.has_value());
  EXPECT_FALSE(judge_one(results).met.has_value());
  results.cells = {cell_of("fft", 100, 100)};
  EXPECT_FALSE(judge_one(results).met.has_value());
  EXPECT_FALSE(judge_one(results).complete);
  results.cells.push_back(cell_of("fft", 200, 100));
  EXPECT_EQ(judge_one(results).met, false);
}

TEST(BenchVerdict, TargetsAreNotJudgedOnCpuDevices) {
  patterns_results results{.rows = {by_hand_row}};
  results.cells = {cell_of("fft", 100, 100)};
  EXPECT_FALSE(judge_one(results, false).met.has_value());
}

TEST(BenchVerdict, ARowIsJudgedByItsOwnGraphOnly) {
  patterns_results results{.rows = {"stencil_64"}};
  results.cells = {cell_of("stencil_1d", 1, 100), cell_of("stencil_1d", 6.1, 300)};
  results.cells[1].row = "stencil_64";
  verdict const got = judge_one(results);
  EXPECT_DOUBLE_EQ(got.value.value(), 61);  // 6.1 us for 100 tasks
  EXPECT_DOUBLE_EQ(got.control.value(), 3000);
  EXPECT_EQ(got.met, false);
  results.cells[1].times[0].seconds = {6e-6};
  EXPECT_EQ(judge_one(results).met, true);
}

TEST(BenchVerdict, IrregularLengthsAreComparedWithTheCriticalPath) {
  patterns_results results{.rows = {"irregular"}};
  results.cells = {cell_of("stencil_1d", 114, 300)};
  results.cells[0].row = "irregular";
  EXPECT_DOUBLE_EQ(judge_one(results).value.value(), 1.14);
  EXPECT_EQ(judge_one(results).met, true);
}

TEST(BenchVerdict, AllFansMustMeetTheTarget) {
  patterns_results results{.rows = {fan_in_row}};
  results.cells = {cell_of("fan_in", 4, 100), cell_of("fan_in", 5.2, 100),
                   cell_of("fan_out", 100, 1)};
  for (cell& each : results.cells) { each.fan = true; }
  verdict const got = judge_one(results);
  EXPECT_DOUBLE_EQ(got.value.value(), 26);  // 5.2 us for 200 edges
  EXPECT_EQ(got.worst, "fan_in, 64 edges");
  EXPECT_EQ(got.met, false);
}

TEST(BenchVerdict, MetgHasALengthAndARatio) {
  patterns_results results{.rows = {metg_row}};
  results.metgs = {
      metg_of("fft", 16, flotilla_variant, 4),      metg_of("fft", 16, control_variant, 50),
      metg_of("tree", 64, flotilla_variant, 5),     metg_of("tree", 64, control_variant, 20),
      metg_of("trivial", 64, flotilla_variant, 99),  // the row does not need these
      metg_of("fft", 1, flotilla_variant, 99)};
  std::vector<verdict> const got = judge(results, 1, true);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].value, 5);
  EXPECT_EQ(got[0].control, 20);
  EXPECT_EQ(got[0].met, true);
  EXPECT_EQ(got[1].value, 0.25);
  EXPECT_THAT(got[1].missed, ElementsAre("tree, width 64"));
  EXPECT_EQ(got[1].met, false);
}

TEST(BenchVerdict, AMetgBeyondTheSearchMissesTheTarget) {
  double const beyond = std::numeric_limits<double>::infinity();
  patterns_results results{.rows = {metg_row}};
  results.metgs = {metg_of("fft", 16, flotilla_variant, beyond),
                   metg_of("fft", 16, control_variant, beyond)};
  for (verdict const& each : judge(results, 1, true)) { EXPECT_EQ(each.met, false) << each.what; }
  // If only the control is beyond the search, the ratio is less than the one that is reported.
  results.metgs[0].us = 4;
  EXPECT_DOUBLE_EQ(judge(results, 1, true)[1].value.value(), 4 / 2048.0);
}

TEST(BenchVerdict, TwoDevicesHaveTheirOwnRow) {
  patterns_results results{.rows = {on_two_row}};
  results.cells = {cell_of("fft", 100, 100)};
  std::vector<verdict> const got = judge(results, 2, true);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].row, "patterns_2gpu");
  EXPECT_THAT(row_ids(2), ElementsAre("patterns_2gpu"));
}

}  // namespace
}  // namespace flotilla::bench
