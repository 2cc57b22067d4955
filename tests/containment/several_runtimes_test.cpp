// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Several runtimes of one process use one isolated device, and it is lost: each of them learns of
// it.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include <flotilla/device/health.hpp>
#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "isolation/owner/owner.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using word = std::uint32_t;

/// A runtime with an isolated device, a kernel that is held, and additions behind it.
class user {
 public:
  user(int workers, std::chrono::milliseconds stuck_after) : rt_{options(workers, stuck_after)} {
    rt_.submit(sum_.span().fill(0)).wait();
  }
  void begin() {
    open_.push_back(rt_.submit(held_.launch_of(program_), {.device = first}));
    for (int i = 0; i < 3; ++i) { add(); }
    // The tasks must be in streams. A CPU device runs one kernel at a time, so the kernel of the
    // second runtime does not start.
    for (int i = 0; i < 50; ++i) {
      rt_.pump();
      std::this_thread::sleep_for(1ms);
    }
  }
  /// An addition in the stream of the last task.
  void add() {
    open_.push_back(rt_.submit(addition(), {.after_end = {open_.back()}}));
    ++additions_;
  }
  /// An addition that may go to any stream of the device.
  void add_alone() {
    open_.push_back(rt_.submit(addition(), {.batch = false}));
    ++additions_;
  }
  void release() { held_.release(); }
  /// Every task must end, and each addition that has ended well must have run once.
  void check() {
    word well = 0;
    bool is_addition = false;
    for (ticket const& each : open_) {
      try {
        ASSERT_TRUE(each.wait_for(test_timeout)) << "a task never ends";
        well += is_addition ? 1 : 0;
      } catch (device_fault const&) {}
      is_addition = true;
    }
    std::vector<word> sum(1);
    rt_.submit(sum_.copy_to(std::span{sum})).wait();
    EXPECT_GE(sum[0], well + checks_) << "tasks have ended well that did not run";
    EXPECT_LE(sum[0], additions_ + checks_);
    // The device can be used as before.
    rt_.submit(addition()).wait();
    ++checks_;
    rt_.submit(sum_.copy_to(std::span{sum})).wait();
    EXPECT_GE(sum[0], well + checks_);
    EXPECT_EQ(health(rt_, first), device_health::ok);
  }
  [[nodiscard]] runtime& rt() { return rt_; }

 private:
  static constexpr device_ordinal first{0};
  static runtime_options options(int workers, std::chrono::milliseconds stuck_after) {
    runtime_options made{.devices = device_spec(1),
                         .workers = workers,
                         .stuck_after = stuck_after,
                         .restart = {.intensity = 1000}};
    made.settings.all.isolation = isolation::process;
    return made;
  }
  launch addition() { return program_.add.with_shape({1}, {1})(sum_, 1u); }

  runtime rt_;
  test_program program_{rt_};
  held_word held_{rt_};
  device_buffer<word> sum_{rt_, first, 1};
  std::vector<ticket> open_;
  word additions_ = 0;
  word checks_ = 0;  // each of them has made an addition
};

std::uint32_t workers_so_far() { return isolated::owner::get().device(0)->workers().serving(); }

/// The parameters are the numbers of workers of the two runtimes.
class SeveralRuntimes : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
  void start(std::chrono::milliseconds stuck_after = 0ms) {
    one_ = std::make_unique<user>(std::get<0>(GetParam()), 0ms);
    other_ = std::make_unique<user>(std::get<1>(GetParam()), stuck_after);
    one_->begin();
    other_->begin();
  }
  std::unique_ptr<user> one_, other_;
};
INSTANTIATE_TEST_SUITE_P(workers, SeveralRuntimes,
                         ::testing::Combine(::testing::Values(0, 1), ::testing::Values(0, 1)));

// regression: only the runtime that replaced the device learned of the loss. Tasks of the other one
// did not end, or ended well although they did not run
TEST_P(SeveralRuntimes, EachOfThemLearnsOfALoss) {
  start();
  testing::kill_worker(one_->rt(), one_->rt().devices()[0].ordinal);
  one_->add();
  one_->release();
  other_->release();
  one_->check();
  other_->add();
  other_->check();
}

// regression: the same, if later tasks of the other runtime are in other streams
TEST_P(SeveralRuntimes, LaterTasksInOtherStreamsEndNothingThatDidNotRun) {
  start();
  testing::kill_worker(one_->rt(), one_->rt().devices()[0].ordinal);
  one_->release();
  other_->release();
  one_->check();
  other_->add_alone();
  other_->add_alone();
  other_->check();
}

// regression: the other runtime found its stuck tasks, and ended the new worker of the first one
TEST_P(SeveralRuntimes, AStuckRuntimeDoesNotEndTheNewWorkerOfTheOther) {
  start(200ms);
  testing::kill_worker(one_->rt(), one_->rt().devices()[0].ordinal);
  one_->release();
  one_->check();
  std::uint32_t const workers = workers_so_far();
  other_->release();
  other_->check();
  EXPECT_EQ(workers_so_far(), workers);
}

// requirement: each of several losses reaches each runtime, also if one of them was idle meanwhile
TEST_P(SeveralRuntimes, SeveralLossesReachARuntimeThatWasIdle) {
  start();
  one_->release();
  other_->release();
  one_->check();
  other_->check();
  for (int round = 0; round < 3; ++round) {
    testing::kill_worker(one_->rt(), one_->rt().devices()[0].ordinal);
    one_->add_alone();
    one_->check();
  }
  other_->add_alone();
  other_->check();
}

// requirement: a runtime that is destroyed after a loss that it did not learn of leaves nothing
TEST_P(SeveralRuntimes, ARuntimeCanEndBeforeItLearnsOfALoss) {
  start();
  testing::kill_worker(one_->rt(), one_->rt().devices()[0].ordinal);
  one_->release();
  other_->release();
  one_->check();
  other_.reset();
  one_->add_alone();
  one_->check();
}

}  // namespace
}  // namespace flotilla::test
