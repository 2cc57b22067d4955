// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Replays of recordings on a device that is lost.

#include <chrono>
#include <stdexcept>
#include <thread>
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
  /// Gives flotilla the time to put the replays that were submitted into a stream. Without workers,
  /// the first call of `pump` does it.
  void launch_replays() {
    for (int i = 0; i < 50; ++i) {
      rt().pump();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
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
  launch_replays();
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
  launch_replays();
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

// requirement: the arguments of a replay that never ran, because a predecessor failed, are for the
// next replay, and not for an earlier one that runs again
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
  launch_replays();
  steps.set(task, count(counters, 1));
  ticket const skipped = steps.replay({.after = {bad}});
  launch_replays();  // flotilla sees that `skipped` fails, which ends after the replays before it
  devices().crash(0);
  EXPECT_EQ(ending_of(hit), ending::lost);
  EXPECT_EQ(ending_of(skipped), ending::dependency);
  word const again = ending_of(queued) == ending::well ? 1 : 0;
  std::vector<word> const ran = read(counters);
  EXPECT_GE(ran[0], 1 + again);
  EXPECT_EQ(ran[1], 0u) << "an earlier replay ran with the arguments of a later one";
  steps.replay().wait();
  EXPECT_EQ(read_one(counters, 1), 1u);
}

}  // namespace
}  // namespace flotilla::test
