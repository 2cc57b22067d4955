// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// User code that blocks: it delays only its own device, and is reported.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds block_time{300};
/// A delayed task would be late by about `block_time`. On an idle machine, tasks are 1 to 3 ms late
/// at most. The limit leaves time for other processes on the processors.
constexpr milliseconds max_late{50};
constexpr int probes = 10;
constexpr int attempts = 4;  // another process may delay one attempt, but hardly all

[[nodiscard]] double in_ms(clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

class Blocking : public contract_test {
 protected:
  [[nodiscard]] runtime_options quiet() const {
    runtime_options with = options();
    with.report_calls_longer_than = milliseconds{0};
    return with;
  }
  [[nodiscard]] bool has_worker() const {
    return worker_count() != 0 && GetParam().threads != tbb_threads::none;
  }
  /// Starts `block`, which makes user code sleep for `block_time` and returns after this code has
  /// begun. Then calls `probe` several times. `probe` starts something and returns a function that
  /// tells whether this has ended.
  /// @return the longest time from the start to the end of a probe, in the best of some attempts.
  clock::duration lateness(std::function<void(std::atomic<int>& running)> const& block,
                           std::function<std::function<bool()>(int)> const& probe) {
    clock::duration best = clock::duration::max();
    for (int i = 0; i < attempts && best > max_late; ++i) {
      std::atomic<int> running{0};
      block(running);
      if (!eventually([&] { return running != 0; })) { break; }
      clock::duration late{};
      for (int number = 0; number < probes; ++number) {
        auto const begun = clock::now();
        std::function<bool()> const has_ended = probe(number);
        while (!has_ended()) { std::this_thread::sleep_for(std::chrono::microseconds{100}); }
        late = std::max(late, clock::now() - begun);
        std::this_thread::sleep_for(milliseconds{10});
      }
      best = std::min(best, late);
      rt().wait_idle();
      EXPECT_TRUE(eventually([&] { return running == 0; }));
    }
    std::printf("late: %.2f ms at most\n", in_ms(best));
    return best;
  }
  /// Returns a function that polls the ticket. It does not wait, because a waiting thread would
  /// help to drive the devices.
  [[nodiscard]] static std::function<bool()> end_of(ticket task) {
    auto const kept = std::make_shared<ticket>(std::move(task));
    return [kept] { return kept->ready(); };
  }
  /// The same for a continuation of the task.
  [[nodiscard]] static std::function<bool()> end_of_continuation(ticket const& task) {
    auto const ended = std::make_shared<std::atomic<bool>>(false);
    task.then([ended](std::exception_ptr) { *ended = true; });
    return [ended] { return ended->load(); };
  }
  [[nodiscard]] static callable sleeping(std::atomic<int>& running) {
    return [&running](task_context&) {
      ++running;
      std::this_thread::sleep_for(block_time);
      --running;
    };
  }
};
FLOTILLA_CONTRACT(Blocking);

// requirement: a callable that blocks delays no task of another device, even if oneTBB provides
// only one thread and nobody waits
TEST_P(Blocking, CallableDelaysNoOtherDevice) {
  if (!has_worker()) { GTEST_SKIP() << "needs a worker"; }
  if (device_count() < 2) { GTEST_SKIP() << "needs two devices"; }
  start(quiet());
  static_cast<void>(program());
  device_word value{rt(), last(), 1};
  std::uint32_t seen = 0;
  auto const late = lateness(
      [&](std::atomic<int>& running) { rt().post(sleeping(running), {.device = first()}); },
      [&](int number) {
        switch (number % 3) {
          case 0: return end_of(rt().submit([](task_context&) {}, {.device = last()}));
          case 1: return end_of(rt().submit(value.buffer().copy_to(std::span{&seen, 1})));
          default:
            return end_of(
                rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}));
        }
      });
  EXPECT_LT(late, max_late);
}

// requirement: the same if callables block on all devices except one
TEST_P(Blocking, CallablesOnSeveralDevicesDelayNoOtherDevice) {
  if (!has_worker()) { GTEST_SKIP() << "needs a worker"; }
  if (device_count() < 3) { GTEST_SKIP() << "needs three devices"; }
  start(quiet());
  static_cast<void>(program());
  auto const late = lateness(
      [&](std::atomic<int>& running) {
        for (unsigned device = 0; device < last().value; ++device) {
          rt().post(sleeping(running), {.device = device_ordinal{device}});
        }
        EXPECT_TRUE(eventually([&] { return running == static_cast<int>(last().value); }));
      },
      [&](int) {
        return end_of(rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}));
      });
  EXPECT_LT(late, max_late);
}

// requirement: a callable that blocks delays no continuation of a task of another device
TEST_P(Blocking, CallableDelaysNoContinuation) {
  if (!has_worker()) { GTEST_SKIP() << "needs a worker"; }
  if (device_count() < 2) { GTEST_SKIP() << "needs two devices"; }
  start(quiet());
  static_cast<void>(program());
  auto const late = lateness(
      [&](std::atomic<int>& running) { rt().post(sleeping(running), {.device = first()}); },
      [&](int) -> std::function<bool()> {
        ticket const task =
            rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
        return end_of_continuation(task);
      });
  EXPECT_LT(late, max_late);
}

// requirement: a continuation that blocks delays no task and no other continuation
TEST_P(Blocking, ContinuationDelaysNothing) {
  if (!has_worker()) { GTEST_SKIP() << "needs a worker"; }
  start(quiet());
  static_cast<void>(program());
  auto const late = lateness(
      [&](std::atomic<int>& running) {
        rt().submit(program().nothing.with_shape({1}, {1})()).then([&](std::exception_ptr) {
          ++running;
          std::this_thread::sleep_for(block_time);
          --running;
        });
      },
      [&](int number) -> std::function<bool()> {
        device_ordinal const device = number % 2 == 0 ? first() : last();
        ticket task = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = device});
        if (number % 4 < 2) { return end_of(std::move(task)); }
        return end_of_continuation(task);
      });
  EXPECT_LT(late, max_late);
}

// requirement: the first callable that takes longer than the limit is reported with its label and
// its device, even if no other task waits
TEST_P(Blocking, LongCallableIsReportedOnce) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    rt().submit([](task_context&) { std::this_thread::sleep_for(milliseconds{15}); },
                {.device = last(), .label = i == 0 ? "slow poke" : "later one"})
        .wait();
  }
  stop();
  std::string const printed = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("slow poke"));
  EXPECT_THAT(printed, HasSubstr("device " + std::to_string(last().value)));
  EXPECT_THAT(printed, HasSubstr(" ms"));
  EXPECT_THAT(printed, HasSubstr("ticket::then"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
}

// requirement: the limit is an option. Zero turns the report off
TEST_P(Blocking, LimitOfTheReportIsAnOption) {
  for (milliseconds const limit : {milliseconds{0}, milliseconds{100'000}}) {
    ::testing::internal::CaptureStderr();
    runtime_options with = options();
    with.report_calls_longer_than = limit;
    start(std::move(with));
    rt().submit([](task_context&) { std::this_thread::sleep_for(milliseconds{15}); }).wait();
    stop();
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  }
}

// requirement: a long continuation is reported if it runs on the thread that drives the devices
// while a task is open. That is the case only in single-threaded mode
TEST_P(Blocking, LongContinuationIsReportedIfItDelaysDevices) {
  for (bool const delays : {false, true}) {
    ::testing::internal::CaptureStderr();
    start(options());
    ticket later;
    rt().submit(program().nothing.with_shape({1}, {1})()).then([&](std::exception_ptr) {
      if (delays) { later = rt().submit(program().nothing.with_shape({1}, {1})()); }
      std::this_thread::sleep_for(milliseconds{15});
    });
    rt().wait_idle();
    later = {};
    stop();
    std::string const printed = ::testing::internal::GetCapturedStderr();
    if (delays && worker_count() == 0) {
      EXPECT_THAT(printed, HasSubstr("a continuation ran for"));
      EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
    } else {
      EXPECT_EQ(printed, "");
    }
  }
}

class BlockingAlone : public guest_test {};

// requirement: no warning of oneTBB appears on stderr, even if more workers are asked for than
// oneTBB has threads, and even if they block
TEST_F(BlockingAlone, NoWarningOfOneTbbIsPrinted) {
  FLOTILLA_NEED_DEVICES(2);
  for (int const threads : {0, 1, 2, 3}) {  // 0: the default of oneTBB
    FLOTILLA_EXPECT_IN_CHILD([threads] {
      ::testing::internal::CaptureStderr();
      std::unique_ptr<parallelism> limit;
      if (threads != 0) { limit = std::make_unique<parallelism>(threads); }
      {
        runtime rt{{.devices = device_spec(2),
                    .workers = 64,
                    .report_calls_longer_than = milliseconds{0}}};
        for (unsigned i = 0; i < 8; ++i) {
          rt.post([](task_context&) { std::this_thread::sleep_for(milliseconds{5}); },
                  {.device = device_ordinal{i % 2}});
        }
        rt.submit([](task_context&) {}).then([](std::exception_ptr) {});
        rt.wait_idle();
        runtime const second{{.devices = device_spec(1), .workers = 64}};
      }
      EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    });
  }
}

}  // namespace
}  // namespace flotilla::test
