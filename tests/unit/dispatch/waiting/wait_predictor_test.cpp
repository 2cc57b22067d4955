// Who launches a lone task: the thread that is going to wait for it, once that is its habit.

#include "dispatch/lone_habit.hpp"

#include <flotilla/flotilla.hpp>

#include <cstdint>

#include "support/crowd.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using dispatch::lone_habit;

/// Submits and waits, `times`. @return whether the last was expected to be waited for.
bool submit_and_wait(lone_habit& habit, int times) {
  bool expected = false;
  for (int i = 0; i < times; ++i) {
    expected = habit.submitted(1, 7, static_cast<std::uint64_t>(i));
    EXPECT_EQ(habit.waits(1, 7, static_cast<std::uint64_t>(i)), expected);
  }
  return expected;
}

// requirement: it takes some in a row
TEST(LoneHabit, IsFormedBySubmittingAndWaiting) {
  lone_habit habit;
  EXPECT_FALSE(submit_and_wait(habit, 3));
  EXPECT_TRUE(submit_and_wait(habit, 20));
}

// requirement: several tasks before a wait, a wait for another task and another runtime end it
TEST(LoneHabit, IsEndedByAnythingElse) {
  auto const formed = [] {
    lone_habit habit;
    EXPECT_TRUE(submit_and_wait(habit, 20));
    return habit;
  };
  lone_habit several = formed();
  EXPECT_TRUE(several.submitted(1, 7, 100));
  EXPECT_FALSE(several.submitted(1, 8, 100));
  EXPECT_FALSE(several.waits(1, 8, 100));
  EXPECT_FALSE(several.submitted(1, 8, 101));
  lone_habit other_task = formed();
  EXPECT_TRUE(other_task.submitted(1, 7, 100));
  EXPECT_FALSE(other_task.waits(1, 7, 99));
  EXPECT_FALSE(other_task.submitted(1, 7, 101));
  lone_habit other_runtime = formed();
  EXPECT_FALSE(other_runtime.submitted(2, 7, 100));
}

class LoneTasks : public guest_test {
  parallelism threads_{2};  // oneTBB's: else it may have no worker to grant
};

// requirement: then the thread that waits launches them, and not a worker that looks out for work
TEST_F(LoneTasks, AreLaunchedByWhoWaits) {
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  test_program const of{rt};
  constexpr int times = 400;
  // The processors of this machine may be taken at any time, from this thread too: then a worker helps.
  EXPECT_TRUE(eventually([&] {
    auto const drains = [&] {
      std::uint64_t all = 0;
      for (worker_counters const& each : rt.workers()) { all += each.drains; }
      return all;
    };
    std::uint64_t const before = drains();
    for (int i = 0; i < times; ++i) { rt.submit(of.nothing.on({1}, {1})()).wait(); }
    return drains() - before < times / 2;
  }));
}

// requirement: a thread that gives up its habit strands nothing
TEST_F(LoneTasks, ThatNobodyWaitsForAreLaunchedAllTheSame) {
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  test_program const of{rt};
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20; ++i) { rt.submit(of.nothing.on({1}, {1})()).wait(); }
    ticket const left = rt.submit(of.nothing.on({1}, {1})());
    EXPECT_TRUE(eventually([&] { return left.ready(); }));
  }
}

}  // namespace
}  // namespace flotilla::test
