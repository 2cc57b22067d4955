// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Replays of recordings on a device that is lost.

#include <chrono>
#include <stdexcept>
#include <vector>

#include <flotilla/task/recording.hpp>

#include "containment/containment_fixture.hpp"

namespace flotilla::test {
namespace {

class LostReplays : public containment_test {
 protected:
  [[nodiscard]] word read_one(device_buffer<word> const& from, std::size_t at) {
    return read(from)[at];
  }
  /// Checks that counters[0] was incremented by `replays` replays and perhaps by one more, which
  /// was lost. No replay must have incremented counters[1].
  void expect_replays(device_buffer<word> const& counters, word replays) {
    std::vector<word> const ran = read(counters);
    EXPECT_GE(ran[0], replays);
    EXPECT_LE(ran[0], replays + 1);
    EXPECT_EQ(ran[1], 0u) << "an earlier replay ran with the arguments of a later one";
  }
};
INSTANTIATE_TEST_SUITE_P(workers, LostReplays, ::testing::Values(0, 2));

// requirement: a replay in flight fails; the next one is right
TEST_P(LostReplays, AReplayInFlightFails) {
  start();
  constexpr word n = 20;
  device_buffer<word> counters = zeros(n, first), others = zeros(n, second);
  recording steps{rt()};
  for (word i = 0; i < n; ++i) {
    steps.add(count(counters, i));
    steps.add(count(others, i));
  }
  steps.finish();
  steps.replay().wait();
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  rt().pump();
  ASSERT_TRUE(pumping(rt(), [&] { return read_one(others, 0) == 2; }));
  // The device may not have launched its part yet, and then hangs on the successor.
  EXPECT_TRUE(pumping(rt(), [&] {
    devices().crash(0);
    return hit.ready();
  }));
  EXPECT_NE(ending_of(hit), ending::well);
  testing::clear_faults();  // or the device was lost before its part was launched
  rt().wait_idle();
  std::vector<word> const before = read(counters);
  steps.replay().wait();
  std::vector<word> const after = read(counters);
  for (word i = 0; i < n; ++i) { EXPECT_EQ(after[i], before[i] + 1); }
  EXPECT_EQ(read(others), std::vector<word>(n, 3));
}

// requirement: if a device is lost, the part of a replay that waits for it on another device goes
// on, so that device runs other tasks; the replay fails, and the next one is right
TEST_P(LostReplays, APartThatWaitsForALostDeviceGoesOn) {
  start();
  device_buffer<word> counters = zeros(1, first), others = zeros(1, second);
  recording steps{rt()};
  recorded_task const ahead = steps.add(count(counters, 0));
  steps.add(count(others, 0), {.after = {ahead}});
  steps.replay().wait();
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  rt().pump();
  EXPECT_TRUE(pumping(rt(), [&] {
    devices().crash(0);
    return hit.ready();
  }));
  EXPECT_NE(ending_of(hit), ending::well);
  testing::clear_faults();
  rt().wait_idle();
  rt().submit(nothing(), {.device = second}).wait();
  word const before = read_one(counters, 0), before_other = read_one(others, 0);
  steps.replay().wait();
  EXPECT_EQ(read_one(counters, 0), before + 1);
  EXPECT_EQ(read_one(others, 0), before_other + 1);
}

// requirement: replays behind one that may have run had not begun, so they run on the successor
TEST_P(LostReplays, ReplaysThatHadNotBegunRun) {
  start();
  constexpr word n = 20;
  device_buffer<word> counters = zeros(n, first);
  recording steps{rt()};
  for (word i = 0; i < n; ++i) { steps.add(count(counters, i)); }
  steps.replay().wait();
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  std::vector<ticket> queued;
  for (int i = 0; i < 3; ++i) { queued.push_back(steps.replay()); }
  ticket const behind = rt().submit(count(counters, 0), {.after = {queued.back()}});
  pump_for_a_while();
  devices().crash(0);
  EXPECT_EQ(ending_of(hit), ending::lost);
  for (ticket const& each : queued) { EXPECT_EQ(ending_of(each), ending::well); }
  EXPECT_EQ(ending_of(behind), ending::well);
  EXPECT_EQ(devices().replacements(), 1);
  std::vector<word> const ran = read(counters);
  for (word i = 0; i < n; ++i) {
    word const expected = 4 + (i == 0 ? 1 : 0);
    EXPECT_GE(ran[i], expected) << i;
    EXPECT_LE(ran[i], expected + 1) << i << ": the lost replay ran twice";
  }
}

// requirement: a replay never runs with the arguments of a later one. The last one runs
TEST_P(LostReplays, NoReplayRunsWithTheArgumentsOfALaterOne) {
  start();
  constexpr word n = 4;
  device_buffer<word> counters = zeros(n, first);
  recording steps{rt()};
  recorded_task const task = steps.add(count(counters, 0));
  steps.replay().wait();
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  std::vector<ticket> queued;
  for (word i = 1; i < n; ++i) {
    steps.set(task, count(counters, i));
    queued.push_back(steps.replay());
  }
  pump_for_a_while();
  devices().crash(0);
  EXPECT_EQ(ending_of(hit), ending::lost);
  EXPECT_EQ(ending_of(queued.back()), ending::well);
  std::vector<word> const ran = read(counters);
  for (word i = 1; i < n; ++i) {
    ending const how = ending_of(queued[i - 1]);
    EXPECT_EQ(ran[i], how == ending::well ? 1u : 0u) << i;
    if (how == ending::lost) {
      try {
        queued[i - 1].wait();
      } catch (device_fault const& why) { EXPECT_FALSE(why.may_have_run()); }
    }
    // Without workers, all replays are in the stream, whose graph has the last arguments.
    if (GetParam() == 0 && i + 1 < n) { EXPECT_EQ(how, ending::lost) << i; }
  }
  steps.replay().wait();
  EXPECT_EQ(read_one(counters, n - 1), 2u);
}

// requirement: the arguments of a replay that never ran, because a predecessor failed before the
// device was lost, are for the next replay. An earlier replay runs again with its own
TEST_P(LostReplays, NoReplayRunsWithTheArgumentsOfOneThatFailed) {
  start();
  device_buffer<word> counters = zeros(2, first);
  recording steps{rt()};
  recorded_task const task = steps.add(count(counters, 0));
  steps.replay().wait();
  ticket const bad = rt().submit([](task_context&) { throw std::runtime_error{"on purpose"}; },
                                 {.device = second});
  EXPECT_THROW(bad.wait(), std::runtime_error);
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  ticket const queued = steps.replay();
  pump_for_a_while();
  steps.set(task, count(counters, 1));
  ticket const skipped = steps.replay({.after = {bad}});
  pump_for_a_while();  // flotilla sees that `skipped` fails, which ends after the replays before it
  devices().crash(0);
  EXPECT_EQ(ending_of(hit), ending::lost);
  EXPECT_EQ(ending_of(skipped), ending::dependency);
  EXPECT_EQ(ending_of(queued), ending::well);
  expect_replays(counters, 2);
  steps.replay().wait();
  EXPECT_EQ(read_one(counters, 1), 1u);
}

// requirement: the same if the predecessor fails after the device was lost, and before the earlier
// replay runs again
TEST_P(LostReplays, NoReplayRunsWithTheArgumentsOfOneThatFailedMeanwhile) {
  start();
  device_buffer<word> counters = zeros(2, first);
  recording steps{rt()};
  recorded_task const task = steps.add(count(counters, 0));
  steps.replay().wait();
  // So many predecessors that flotilla looks first at the one on which the replay was parked.
  replay_options behind;
  for (int i = 0; i < 4; ++i) {
    ticket const done = rt().submit(nothing(), {.device = second});
    done.wait();
    behind.after.add(done);
  }
  testing::hang_kernel(rt().devices()[1], 1);
  ticket const held = rt().submit(nothing(), {.device = second});
  ticket const bad = rt().submit([](task_context&) { throw std::runtime_error{"on purpose"}; },
                                 {.device = second, .after = {held}});
  behind.after.add(bad);
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  ticket const queued = steps.replay();
  pump_for_a_while();
  steps.set(task, count(counters, 1));
  ticket const skipped = steps.replay(behind);
  pump_for_a_while();
  devices().crash(0);
  testing::clear_faults();  // and now `bad` fails
  EXPECT_THROW(bad.wait(), std::runtime_error);
  EXPECT_EQ(ending_of(hit), ending::lost);
  EXPECT_EQ(ending_of(skipped), ending::dependency);
  EXPECT_EQ(ending_of(queued), ending::well);
  expect_replays(counters, 2);
  steps.replay().wait();
  EXPECT_EQ(read_one(counters, 1), 1u);
}

// requirement: the same for a replay whose deadline has passed
TEST_P(LostReplays, NoReplayRunsWithTheArgumentsOfOneThatIsLate) {
  start();
  device_buffer<word> counters = zeros(2, first);
  recording steps{rt()};
  recorded_task const task = steps.add(count(counters, 0));
  steps.replay().wait();
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = steps.replay();
  ticket const queued = steps.replay();
  pump_for_a_while();
  devices().crash(0);
  steps.set(task, count(counters, 1));
  ticket const late = steps.replay(
      {.priority = -1, .deadline = std::chrono::steady_clock::now() - std::chrono::seconds{1}});
  EXPECT_THROW(late.wait(), timed_out);
  EXPECT_EQ(ending_of(hit), ending::lost);
  EXPECT_EQ(ending_of(queued), ending::well);
  expect_replays(counters, 2);
}

// requirement: a replay without a deadline cannot be cancelled, also while it waits to run again
TEST_P(LostReplays, NoReplayIsCancelled) {
  start();
  constexpr int losses = 5, replays = 400;
  device_buffer<word> counters = zeros(1, first);
  recording steps{rt()};
  steps.add(count(counters, 0));
  steps.replay().wait();
  for (int i = 0; i < losses; ++i) {
    testing::hang_kernel(rt().devices()[0], 1);
    ticket const hit = steps.replay();
    std::vector<ticket> queued;
    for (int k = 0; k < replays; ++k) { queued.push_back(steps.replay()); }
    pump_for_a_while();
    devices().crash(0);
    EXPECT_TRUE(pumping(rt(), [&] { return hit.ready(); }));
    // The device starts the oldest replay first.
    for (std::size_t k = queued.size(); k-- > 0;) { EXPECT_FALSE(queued[k].cancel()) << k; }
    for (ticket const& each : queued) { EXPECT_EQ(ending_of(each), ending::well); }
  }
  EXPECT_GE(read_one(counters, 0), word{1 + losses * replays});
}

// requirement: a recording whose records were on the way to the device when it was lost is right
TEST_P(LostReplays, RecordsThatWereNotCopiedAreNotUsed) {
  start();
  constexpr word n = 20;
  device_buffer<word> counters = zeros(n + 1, first);
  testing::hang_kernel(rt().devices()[0], 1);
  ticket const hit = rt().submit(count(counters, n));
  pump_for_a_while();
  recording steps{rt()};
  for (word i = 0; i < n; ++i) { steps.add(count(counters, i)); }
  steps.finish();  // the copy of the records waits for the kernel that hangs
  devices().crash(0);
  EXPECT_EQ(ending_of(hit), ending::lost);
  for (word replays = 1; replays <= 3; ++replays) {
    EXPECT_EQ(ending_of(steps.replay()), ending::well);
    std::vector<word> const ran = read(counters);
    EXPECT_EQ(std::vector<word>(ran.begin(), ran.begin() + n), std::vector<word>(n, replays));
  }
}

}  // namespace
}  // namespace flotilla::test
