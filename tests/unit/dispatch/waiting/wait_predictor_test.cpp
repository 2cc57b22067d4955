// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// If a thread repeatedly submits one task and then waits for it, flotilla predicts the next wait.
// Then this thread launches the task instead of a worker.

#include "dispatch/waiting/wait_predictor.hpp"

#include <flotilla/flotilla.hpp>

#include <cstdint>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/tbb_threads.hpp"

namespace flotilla::test {
namespace {

using dispatch::wait_predictor;

/// Records `times` times that a task is submitted and then waited for. @return whether the last
/// wait was predicted.
bool submit_and_wait(wait_predictor& predictor, int times) {
  bool expected = false;
  for (int i = 0; i < times; ++i) {
    expected = predictor.on_submit(1, 7, static_cast<std::uint64_t>(i));
    EXPECT_EQ(predictor.on_wait(1, 7, static_cast<std::uint64_t>(i)), expected);
  }
  return expected;
}

// requirement: a wait is predicted only after several submits in a row, each followed by a wait for
// the task
TEST(WaitPredictor, ExpectsAWaitAfterSomeInARow) {
  wait_predictor predictor;
  EXPECT_FALSE(submit_and_wait(predictor, 3));
  EXPECT_TRUE(submit_and_wait(predictor, 20));
}

// requirement: the predictor starts again from zero after two submits without a wait between them,
// after a wait for another task, and after the use of another runtime
TEST(WaitPredictor, ExpectsNoneAfterAnythingElse) {
  auto const formed = [] {
    wait_predictor predictor;
    EXPECT_TRUE(submit_and_wait(predictor, 20));
    return predictor;
  };
  wait_predictor several = formed();
  EXPECT_TRUE(several.on_submit(1, 7, 100));
  EXPECT_FALSE(several.on_submit(1, 8, 100));
  EXPECT_FALSE(several.on_wait(1, 8, 100));
  EXPECT_FALSE(several.on_submit(1, 8, 101));
  wait_predictor other_task = formed();
  EXPECT_TRUE(other_task.on_submit(1, 7, 100));
  EXPECT_FALSE(other_task.on_wait(1, 7, 99));
  EXPECT_FALSE(other_task.on_submit(1, 7, 101));
  wait_predictor other_runtime = formed();
  EXPECT_FALSE(other_runtime.on_submit(2, 7, 100));
}

class LoneTasks : public guest_test {
  parallelism threads_{2};  // with fewer threads, oneTBB may provide no worker
};

// requirement: the waiting thread launches its tasks, although a worker is polling for work
TEST_F(LoneTasks, AreLaunchedByWhoWaits) {
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  test_program const of{rt};
  constexpr int times = 400;
  // This thread can lose its processor at any time. Then the worker launches tasks, so the test may
  // need several attempts.
  EXPECT_TRUE(eventually([&] {
    auto const drains = [&] {
      std::uint64_t all = 0;
      for (worker_counters const& each : rt.worker_counters()) { all += each.drains; }
      return all;
    };
    std::uint64_t const before = drains();
    for (int i = 0; i < times; ++i) { rt.submit(of.nothing.with_shape({1}, {1})()).wait(); }
    return drains() - before < times / 2;
  }));
}

// requirement: if the prediction was wrong and the submitting thread does not wait, the task is
// launched nevertheless
TEST_F(LoneTasks, ThatNobodyWaitsForAreLaunchedAllTheSame) {
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  test_program const of{rt};
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20; ++i) { rt.submit(of.nothing.with_shape({1}, {1})()).wait(); }
    ticket const left = rt.submit(of.nothing.with_shape({1}, {1})());
    EXPECT_TRUE(eventually([&] { return left.ready(); }));
  }
}

}  // namespace
}  // namespace flotilla::test
