// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tests how a row compares figures. A row that says "met" wrongly would be worse than a row without
// a verdict.

#include <gtest/gtest.h>

#include <stdexcept>

#include "row.hpp"

namespace flotilla::bench {
namespace {

figure figure_of(std::string name, std::vector<double> passes) {
  figure figure;
  figure.name = std::move(name);
  figure.passes = std::move(passes);
  return figure;
}

row row_with(double ratio) {
  row row;
  row.id = "row";
  row.subject = "subject";
  row.control = "controls";
  row.controls = {"a", "b"};
  row.max_ratio = ratio;
  return row;
}

TEST(BenchFigure, MedianAndSpreadCoverThePasses) {
  EXPECT_DOUBLE_EQ(figure_of("", {30, 10, 20}).median(), 20);
  EXPECT_DOUBLE_EQ(figure_of("", {40, 10, 20, 30}).median(), 25);
  EXPECT_DOUBLE_EQ(figure_of("", {30, 10, 20}).spread(), 1);
}

TEST(BenchFigure, QuantilesCoverSingleTasks) {
  figure some = figure_of("", {1});
  for (int i = 1000; i > 0; --i) { some.samples.push_back(i); }
  EXPECT_DOUBLE_EQ(some.quantile(0), 1);
  EXPECT_DOUBLE_EQ(some.quantile(0.5), 501);
  EXPECT_DOUBLE_EQ(some.quantile(0.99), 991);
  EXPECT_DOUBLE_EQ(some.quantile(1), 1000);
}

TEST(BenchRow, LowestControlIsCompared) {
  std::vector<figure> const figures{figure_of("subject", {50}), figure_of("a", {200}),
                                    figure_of("b", {100})};
  row_result const got = evaluate(row_with(0.5), figures, true);
  EXPECT_EQ(got.control_value, 100);
  EXPECT_EQ(got.ratio, 0.5);
  EXPECT_EQ(got.met, true);
  EXPECT_EQ(evaluate(row_with(0.49), figures, true).met, false);
}

TEST(BenchRow, LooserOfRatioAndCostIsTheTarget) {
  std::vector<figure> const figures{figure_of("subject", {105}), figure_of("a", {200}),
                                    figure_of("b", {100})};
  row row = row_with(1.0);
  row.max_value = 110;
  row_result const by_cost = evaluate(row, figures, true);
  EXPECT_EQ(by_cost.target, 110);
  EXPECT_FALSE(by_cost.target_is_ratio);
  EXPECT_EQ(by_cost.met, true);
  row.max_value = 50;
  EXPECT_EQ(evaluate(row, figures, true).target, 100);
  EXPECT_EQ(evaluate(row, figures, true).met, false);
  row.max_ratio = 1.1;
  EXPECT_EQ(evaluate(row, figures, true).met, true);
  EXPECT_FALSE(evaluate(row, figures, false).met.has_value())
      << "a target for GPUs must not be judged on CPU devices";
}

TEST(BenchRow, RatioOrCostTargetIsUnknownWithoutTheControl) {
  std::vector<figure> const figures{figure_of("subject", {1}), figure_of("a", {}),
                                    figure_of("b", {})};
  row row = row_with(1.0);
  row.max_value = 110;
  EXPECT_FALSE(evaluate(row, figures, true).target.has_value());
  EXPECT_FALSE(evaluate(row, figures, true).met.has_value());
}

TEST(BenchRow, MissingControlGivesANoteAndNoRatio) {
  std::vector<figure> figures{figure_of("subject", {50}), figure_of("a", {200}),
                              figure_of("b", {})};
  figures[2].why_not = "not here: needs 4 devices, there is 1";
  row_result const got = evaluate(row_with(1), figures, true);
  EXPECT_EQ(got.value, 50);
  EXPECT_FALSE(got.ratio.has_value());
  EXPECT_FALSE(got.met.has_value());
  EXPECT_NE(got.note.find("b: not here: needs 4 devices"), std::string::npos) << got.note;
}

TEST(BenchRow, MissingFigureIsNotJudged) {
  std::vector<figure> figures{figure_of("subject", {}), figure_of("a", {200}),
                              figure_of("b", {100})};
  figures[0].why_not = "not here: no";
  row_result const got = evaluate(row_with(1), figures, true);
  EXPECT_FALSE(got.value.has_value());
  EXPECT_FALSE(got.met.has_value());
  EXPECT_EQ(got.note, "not here: no");
}

TEST(BenchRow, TargetsForGpusAreNotJudgedElsewhere) {
  std::vector<figure> const figures{figure_of("subject", {50}), figure_of("a", {200}),
                                    figure_of("b", {100})};
  row_result const got = evaluate(row_with(1), figures, false);
  EXPECT_EQ(got.ratio, 0.5);
  EXPECT_FALSE(got.met.has_value());
  EXPECT_FALSE(got.judged);
}

TEST(BenchRow, RowWithoutATargetIsNotJudged) {
  std::vector<figure> const figures{figure_of("subject", {50}), figure_of("a", {200}),
                                    figure_of("b", {100})};
  row row = row_with(1);
  row.max_ratio.reset();
  row_result const got = evaluate(row, figures, true);
  EXPECT_EQ(got.ratio, 0.5);
  EXPECT_FALSE(got.target.has_value());
  EXPECT_FALSE(got.met.has_value());
  EXPECT_FALSE(got.judged);
}

TEST(BenchRow, AbsoluteTargetJudgesTheFigureItself) {
  row row = row_with(0);
  row.max_ratio.reset();
  row.max_value = 60;
  std::vector<figure> const figures{figure_of("subject", {61}), figure_of("a", {2000}),
                                    figure_of("b", {1000})};
  EXPECT_EQ(evaluate(row, figures, true).met, false);
  row.max_value = 61;
  EXPECT_EQ(evaluate(row, figures, true).met, true);
  // The target does not need a control.
  row.controls.clear();
  EXPECT_EQ(evaluate(row, figures, true).met, true);
}

TEST(BenchRow, QuantileIsComparedWithTheControlsQuantile) {
  std::vector<figure> figures{figure_of("subject", {50}), figure_of("a", {1})};
  figures[0].samples = {10, 20, 30};
  figures[1].samples = {5, 40, 60};
  row row = row_with(1);
  row.controls = {"a"};
  row.of = statistic::p50;
  EXPECT_EQ(evaluate(row, figures, true).ratio, 0.5);
  row.of = statistic::p99;
  EXPECT_EQ(evaluate(row, figures, true).ratio, 0.5);
}

TEST(BenchRow, RatesOfCopiesAreThoseOfTheMedians) {
  std::vector<figure> figures{figure_of("subject", {50, 40, 45}), figure_of("a", {400}),
                              figure_of("b", {900})};
  figures[0].tags.bytes = 4096;
  EXPECT_EQ(evaluate(row_with(1), figures, true).note, "91.0 GB/s, control 10.2 GB/s");
}

TEST(BenchRow, RowWithoutAFigureIsAnError) {
  EXPECT_THROW(static_cast<void>(evaluate(row_with(1), {figure_of("subject", {1})}, true)),
               std::logic_error);
}

}  // namespace
}  // namespace flotilla::bench
