// Rows of the suite: what is made of figures. A wrong "met" would be worse than none.

#include <gtest/gtest.h>

#include <stdexcept>

#include "row.hpp"

namespace flotilla::bench {
namespace {

figure with(std::string name, std::vector<double> passes) {
  figure made;
  made.name = std::move(name);
  made.passes = std::move(passes);
  return made;
}

row asks_for(double ratio) {
  row made;
  made.id = "row";
  made.subject = "subject";
  made.control = "controls";
  made.controls = {"a", "b"};
  made.most_ratio = ratio;
  return made;
}

TEST(BenchFigure, MedianAndSpreadAreThoseOfThePasses) {
  EXPECT_DOUBLE_EQ(with("", {30, 10, 20}).middle(), 20);
  EXPECT_DOUBLE_EQ(with("", {40, 10, 20, 30}).middle(), 25);
  EXPECT_DOUBLE_EQ(with("", {30, 10, 20}).spread(), 1);
}

TEST(BenchFigure, QuantilesAreOfSingleTasks) {
  figure some = with("", {1});
  for (int i = 1000; i > 0; --i) { some.each.push_back(i); }
  EXPECT_DOUBLE_EQ(some.quantile(0), 1);
  EXPECT_DOUBLE_EQ(some.quantile(0.5), 501);
  EXPECT_DOUBLE_EQ(some.quantile(0.99), 991);
  EXPECT_DOUBLE_EQ(some.quantile(1), 1000);
}

TEST(BenchRow, TheLowestControlCounts) {
  std::vector<figure> const figures{with("subject", {50}), with("a", {200}), with("b", {100})};
  row_result const got = evaluate(asks_for(0.5), figures, true);
  EXPECT_EQ(got.control_value, 100);
  EXPECT_EQ(got.ratio, 0.5);
  EXPECT_EQ(got.met, true);
  EXPECT_EQ(evaluate(asks_for(0.49), figures, true).met, false);
}

TEST(BenchRow, OfARatioAndACostTheLooserCounts) {
  std::vector<figure> const figures{with("subject", {105}), with("a", {200}), with("b", {100})};
  row asked = asks_for(1.0);
  asked.most = 110;
  row_result const by_cost = evaluate(asked, figures, true);
  EXPECT_EQ(by_cost.target, 110);
  EXPECT_FALSE(by_cost.target_is_ratio);
  EXPECT_EQ(by_cost.met, true);
  asked.most = 50;
  EXPECT_EQ(evaluate(asked, figures, true).target, 100);
  EXPECT_EQ(evaluate(asked, figures, true).met, false);
  asked.most_ratio = 1.1;
  EXPECT_EQ(evaluate(asked, figures, true).met, true);
  EXPECT_FALSE(evaluate(asked, figures, false).met.has_value()) << "one for GPUs";
}

TEST(BenchRow, OfARatioAndACostNeitherIsKnownWithoutTheControl) {
  std::vector<figure> const figures{with("subject", {1}), with("a", {}), with("b", {})};
  row asked = asks_for(1.0);
  asked.most = 110;
  EXPECT_FALSE(evaluate(asked, figures, true).target.has_value());
  EXPECT_FALSE(evaluate(asked, figures, true).met.has_value());
}

TEST(BenchRow, AMissingControlIsNoRatioAndSaysSo) {
  std::vector<figure> figures{with("subject", {50}), with("a", {200}), with("b", {})};
  figures[2].why_not = "not here: needs 4 devices, there is 1";
  row_result const got = evaluate(asks_for(1), figures, true);
  EXPECT_EQ(got.value, 50);
  EXPECT_FALSE(got.ratio.has_value());
  EXPECT_FALSE(got.met.has_value());
  EXPECT_NE(got.note.find("b: not here: needs 4 devices"), std::string::npos) << got.note;
}

TEST(BenchRow, AMissingFigureIsNotMet) {
  std::vector<figure> figures{with("subject", {}), with("a", {200}), with("b", {100})};
  figures[0].why_not = "not here: no";
  row_result const got = evaluate(asks_for(1), figures, true);
  EXPECT_FALSE(got.value.has_value());
  EXPECT_FALSE(got.met.has_value());
  EXPECT_EQ(got.note, "not here: no");
}

TEST(BenchRow, TargetsForGpusAreNotJudgedElsewhere) {
  std::vector<figure> const figures{with("subject", {50}), with("a", {200}), with("b", {100})};
  row_result const got = evaluate(asks_for(1), figures, false);
  EXPECT_EQ(got.ratio, 0.5);
  EXPECT_FALSE(got.met.has_value());
  EXPECT_FALSE(got.judged);
}

TEST(BenchRow, AnAbsoluteTargetIsOfTheFigureItself) {
  row asked = asks_for(0);
  asked.most_ratio.reset();
  asked.most = 60;
  std::vector<figure> const figures{with("subject", {61}), with("a", {2000}), with("b", {1000})};
  EXPECT_EQ(evaluate(asked, figures, true).met, false);
  asked.most = 61;
  EXPECT_EQ(evaluate(asked, figures, true).met, true);
  // No control is needed to be measured for it.
  asked.controls.clear();
  EXPECT_EQ(evaluate(asked, figures, true).met, true);
}

TEST(BenchRow, AQuantileIsComparedWithTheSameOfTheControl) {
  std::vector<figure> figures{with("subject", {50}), with("a", {1})};
  figures[0].each = {10, 20, 30};
  figures[1].each = {5, 40, 60};
  row asked = asks_for(1);
  asked.controls = {"a"};
  asked.of = statistic::p50;
  EXPECT_EQ(evaluate(asked, figures, true).ratio, 0.5);
  asked.of = statistic::p99;
  EXPECT_EQ(evaluate(asked, figures, true).ratio, 0.5);
}

TEST(BenchRow, ARowOfNoFigureIsAnError) {
  EXPECT_THROW(static_cast<void>(evaluate(asks_for(1), {with("subject", {1})}, true)),
               std::logic_error);
}

}  // namespace
}  // namespace flotilla::bench
