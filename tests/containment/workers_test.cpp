// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Worker processes that fault, are killed and hang, while another device of this process runs.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using word = std::uint32_t;

/// Returns the worker processes of this process that are alive.
std::vector<pid_t> workers_of_this_process() {
  std::vector<pid_t> found;
  for (auto const& each : std::filesystem::directory_iterator{"/proc"}) {
    std::ifstream file{each.path() / "stat"};
    std::string pid, name, state, parent;
    if (!(file >> pid >> name >> state >> parent)) { continue; }
    if (name.starts_with("(flotilla-worke") && parent == std::to_string(::getpid()) &&
        state != "Z") {
      found.push_back(static_cast<pid_t>(std::stol(pid)));
    }
  }
  return found;
}

/// Device 0 is isolated, and device 1 is in this process. The parameter is the number of workers
/// of the runtime.
class IsolatedDevice : public ::testing::TestWithParam<int> {
 protected:
  static constexpr device_ordinal first{0}, second{1};
  static constexpr word n = 1500;

  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
  void TearDown() override { testing::clear_faults(); }
  static runtime_options options(std::chrono::milliseconds stuck_after = 0ms) {
    runtime_options made{.devices = device_spec(2),
                         .workers = GetParam(),
                         .stuck_after = stuck_after,
                         .restart = {.intensity = 1000}};
    made.settings.devices[0].isolation = isolation::process;
    return made;
  }
  /// Floods both devices, calls `harm` in the middle, and checks that only few tasks of device 0
  /// fail. @return how many.
  template <class Harm>
  static std::size_t flood(runtime& rt, Harm const& harm) {
    test_program const program{rt};
    kernel<word*, word> const count = program.loaded.kernel<word*, word>("count_id");
    device_buffer<word> here{rt, first, n}, there{rt, second, n};
    rt.submit(here.span().fill(0)).wait();
    rt.submit(there.span().fill(0)).wait();
    std::vector<ticket> lost, kept;
    for (word i = 0; i < n; ++i) {
      if (i == n / 2) { harm(); }
      lost.push_back(rt.submit(count.with_shape({1}, {1})(here, i)));
      kept.push_back(rt.submit(count.with_shape({1}, {1})(there, i)));
    }
    for (ticket const& each : kept) { each.wait(); }
    std::vector<bool> well;
    for (ticket const& each : lost) {
      try {
        EXPECT_TRUE(each.wait_for(test_timeout));
        well.push_back(true);
      } catch (device_fault const& why) {
        well.push_back(false);
        EXPECT_EQ(why.device(), first);
      }
    }
    std::vector<word> ran(n), other(n);
    rt.submit(here.copy_to(std::span{ran})).wait();
    rt.submit(there.copy_to(std::span{other})).wait();
    EXPECT_EQ(other, std::vector<word>(n, 1));
    for (word i = 0; i < n; ++i) {
      EXPECT_LE(ran[i], 1u) << i;
      if (well[i]) { EXPECT_EQ(ran[i], 1u) << i; }
    }
    return static_cast<std::size_t>(std::count(well.begin(), well.end(), false));
  }
};
INSTANTIATE_TEST_SUITE_P(workers, IsolatedDevice, ::testing::Values(0, 2));

// requirement
TEST_P(IsolatedDevice, SurvivesTheDeathOfItsWorkerInAFlood) {
  runtime rt{options()};
  EXPECT_EQ(flood(rt, [] {}), 0u);
  for (int round = 0; round < 3; ++round) {
    std::vector<pid_t> const before = workers_of_this_process();
    ASSERT_EQ(before.size(), 1u);
    EXPECT_LT(flood(rt, [&] { ::kill(before[0], SIGKILL); }), n / 2);
    EXPECT_EQ(health(rt, first), device_health::ok);
    std::vector<pid_t> const after = workers_of_this_process();
    ASSERT_EQ(after.size(), 1u);
    EXPECT_NE(after, before);
  }
}

// requirement
TEST_P(IsolatedDevice, SurvivesAFaultInAFlood) {
  runtime rt{options()};
  std::size_t const failed =
      flood(rt, [&] { testing::fault_kernel(rt.devices()[0], 1, driver_status::illegal_address); });
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, n / 2);
}

// requirement
TEST_P(IsolatedDevice, SurvivesAKernelThatHangs) {
  runtime rt{options(100ms)};
  ::testing::internal::CaptureStderr();
  std::size_t const failed = flood(rt, [&] { testing::hang_kernel(rt.devices()[0], 1); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("Its worker process is ended and replaced"));
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, n / 2);
}

}  // namespace
}  // namespace flotilla::test
