// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Worker processes that fault, are killed and hang, while another isolated device runs.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "isolation/owner/owner.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using word = std::uint32_t;

/// Two isolated devices. The parameter is the number of workers of the runtime.
class IsolatedDevice : public ::testing::TestWithParam<int> {
 protected:
  static constexpr device_ordinal first{0}, second{1};
  static constexpr word n = 1500;
  // More than half of the tasks have ended before the harm. The rest may be suspects, all of them.
  static constexpr word ended_before = 800, harmed_at = 1150;

  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
  void TearDown() override { testing::clear_faults(); }
  static runtime_options options(std::chrono::milliseconds stuck_after = 0ms) {
    runtime_options made{.devices = device_spec(2),
                         .workers = GetParam(),
                         .stuck_after = stuck_after,
                         .restart = {.intensity = 1000}};
    made.settings.all.isolation = isolation::process;
    return made;
  }
  /// Floods both devices, and calls `harm` in the middle. Checks that each task has run once, or
  /// has failed with device_fault, and that no task fails that had ended.
  /// @return how many tasks of each device have failed.
  template <class Harm>
  static std::array<std::size_t, 2> flood(runtime& rt, Harm const& harm) {
    test_program const program{rt};
    kernel<word*, word> const count = program.loaded.kernel<word*, word>("count_id");
    device_buffer<word> here{rt, first, n}, there{rt, second, n};
    rt.submit(here.span().fill(0)).wait();
    rt.submit(there.span().fill(0)).wait();
    std::array<std::vector<ticket>, 2> tasks;
    for (word i = 0; i < n; ++i) {
      if (i == ended_before) { rt.wait_idle(); }
      if (i == harmed_at) { harm(); }
      tasks[0].push_back(rt.submit(count.with_shape({1}, {1})(here, i)));
      tasks[1].push_back(rt.submit(count.with_shape({1}, {1})(there, i)));
    }
    std::array<std::vector<bool>, 2> well;
    for (unsigned device : {0u, 1u}) {
      for (ticket const& each : tasks[device]) {
        try {
          EXPECT_TRUE(each.wait_for(test_timeout));
          well[device].push_back(true);
        } catch (device_fault const& why) {
          well[device].push_back(false);
          EXPECT_EQ(why.device(), device_ordinal{device});
        }
      }
    }
    std::array<std::vector<word>, 2> ran{std::vector<word>(n), std::vector<word>(n)};
    rt.submit(here.copy_to(std::span{ran[0]})).wait();
    rt.submit(there.copy_to(std::span{ran[1]})).wait();
    std::array<std::size_t, 2> failed{};
    for (unsigned device : {0u, 1u}) {
      for (word i = 0; i < n; ++i) {
        EXPECT_LE(ran[device][i], 1u) << i;
        if (well[device][i]) { EXPECT_EQ(ran[device][i], 1u) << i; }
        if (i < ended_before) { EXPECT_TRUE(well[device][i]) << i; }
      }
      failed[device] =
          static_cast<std::size_t>(std::count(well[device].begin(), well[device].end(), false));
      EXPECT_LT(failed[device], n / 2);
    }
    return failed;
  }
};
INSTANTIATE_TEST_SUITE_P(workers, IsolatedDevice, ::testing::Values(0, 2));

// requirement: kill -9 in a flood costs one device the tasks that were running, and the other
// device nothing
TEST_P(IsolatedDevice, SurvivesTheDeathOfItsWorkerInAFlood) {
  runtime rt{options()};
  EXPECT_EQ(flood(rt, [] {}), (std::array<std::size_t, 2>{}));
  for (int round = 0; round < 2; ++round) {
    auto const workers = [] {
      isolated::owner& all = isolated::owner::get();
      std::uint32_t unused = 0;
      return std::array{all.device(0)->worker(unused)->pid(), all.device(1)->worker(unused)->pid()};
    };
    auto const before = workers();
    auto const failed = flood(rt, [&] { ::kill(before[0], SIGKILL); });
    EXPECT_EQ(failed[1], 0u);
    EXPECT_NE(workers()[0], before[0]);
    EXPECT_EQ(workers()[1], before[1]);
  }
  EXPECT_EQ(health(rt, first), device_health::ok);
  EXPECT_EQ(health(rt, second), device_health::ok);
}

// requirement: a program can kill the worker that it chooses
TEST_P(IsolatedDevice, KillWorkerKillsTheWorkerOfItsDevice) {
  runtime rt{options()};
  auto const failed = flood(rt, [&] { testing::kill_worker(rt, second); });
  EXPECT_EQ(failed[0], 0u);
  EXPECT_EQ(health(rt, second), device_health::ok);
  EXPECT_THROW(testing::kill_worker(rt, device_ordinal{2}), unknown_device);
}

// requirement: a task whose end the worker does not report ends with the next work in its stream,
// or the worker is replaced. The device goes on
TEST_P(IsolatedDevice, LostCompletionsHoldUpNothing) {
  runtime rt{options(500ms)};
  ::testing::internal::CaptureStderr();
  auto const failed = flood(rt, [&] {
    for (std::uint64_t i : {1, 2, 4, 8}) { testing::lose_completion(rt.devices()[0], i); }
  });
  static_cast<void>(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(failed[1], 0u);
  // Nothing follows this task, so only another worker can help.
  test_program const program{rt};
  ::testing::internal::CaptureStderr();
  testing::lose_completion(rt.devices()[0], 1);
  ticket const last =
      rt.submit(program.nothing.with_shape({1}, {1})(), {.device = first, .repeatable = true});
  EXPECT_TRUE(last.wait_for(test_timeout));
  static_cast<void>(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(health(rt, first), device_health::ok);
}

// requirement
TEST_P(IsolatedDevice, SurvivesAFaultInAFlood) {
  runtime rt{options()};
  auto const failed =
      flood(rt, [&] { testing::fault_kernel(rt.devices()[0], 1, driver_status::illegal_address); });
  EXPECT_GT(failed[0], 0u);
  EXPECT_EQ(failed[1], 0u);
}

// requirement
TEST_P(IsolatedDevice, SurvivesAKernelThatHangs) {
  runtime rt{options(200ms)};
  ::testing::internal::CaptureStderr();
  auto const failed = flood(rt, [&] { testing::hang_kernel(rt.devices()[0], 1); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("Its worker process is ended and replaced"));
  EXPECT_GT(failed[0], 0u);
  EXPECT_EQ(failed[1], 0u);
}

}  // namespace
}  // namespace flotilla::test
