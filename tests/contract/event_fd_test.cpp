// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// event_fd: an event loop that only polls and pumps gets everything done, and sleeps in between.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "support/contract_test.hpp"
#include "support/readable.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class EventFd : public contract_test {
 protected:
  /// Runs an event loop until `condition` is true.
  /// @return false if the descriptor does not become readable although `condition` is false.
  bool loop_until(std::function<bool()> const& condition) {
    while (!condition()) {
      if (!readable(event_fd(rt()), test_timeout)) { return condition(); }
      rt().pump();
      ++pumps_;
    }
    return true;
  }
  /// Pumps until the descriptor stays unreadable, or until `test_timeout`.
  [[nodiscard]] bool becomes_quiet() {
    auto const end = std::chrono::steady_clock::now() + test_timeout;
    while (readable(event_fd(rt()), 50ms)) {
      if (std::chrono::steady_clock::now() > end) { return false; }
      rt().pump();
    }
    return true;
  }
  [[nodiscard]] launch nothing() { return program().nothing.with_shape({1}, {1})(); }

  int pumps_ = 0;
};
FLOTILLA_CONTRACT(EventFd);

// requirement
TEST_P(EventFd, EveryCallReturnsTheDescriptor) {
  int const descriptor = event_fd(rt());
  EXPECT_EQ(event_fd(rt()), descriptor);
  EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << "exec() must close the descriptor";
  rt().close();
  EXPECT_EQ(event_fd(rt()), descriptor) << "a closed runtime still runs tasks";
  stop();
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1) << "the runtime must close its descriptor";
}

// requirement: a loop that polls first learns of tasks that were submitted before the first call
TEST_P(EventFd, TasksOfBeforeTheFirstCallMakeItReadable) {
  ticket const task = rt().submit(nothing(), {.device = last()});
  EXPECT_TRUE(loop_until([&] { return task.ready(); }));
}

// requirement
TEST_P(EventFd, IdleRuntimeIsNotReadable) {
  EXPECT_TRUE(readable(event_fd(rt()), test_timeout)) << "the first poll must not wait";
  EXPECT_TRUE(becomes_quiet());
  EXPECT_FALSE(readable(event_fd(rt()), 50ms));
}

// requirement: the loop sleeps until a task arrives from another thread, and completes it with its
// continuation
TEST_P(EventFd, TasksOfOtherThreadsWakeTheLoop) {
  constexpr int count = 200;
  std::atomic<int> ran{0};
  ASSERT_TRUE(becomes_quiet());
  std::thread submitter([&] {
    for (int i = 0; i < count; ++i) {
      auto const device = device_ordinal{static_cast<unsigned>(i % device_count())};
      rt().submit(nothing(), {.device = device}).then([&](std::exception_ptr) { ++ran; });
      if (i % 10 == 0) { std::this_thread::sleep_for(300us); }
    }
  });
  EXPECT_TRUE(loop_until([&] { return ran == count; })) << ran << " of " << count;
  submitter.join();
}

// requirement: the same for tasks that any device may take
TEST_P(EventFd, TasksWithoutADeviceWakeTheLoop) {
  constexpr int count = 50;
  std::atomic<int> ran{0};
  ASSERT_TRUE(becomes_quiet());
  for (int i = 0; i < count; ++i) {
    rt().submit(nothing()).then([&](std::exception_ptr) { ++ran; });
    EXPECT_TRUE(loop_until([&] { return ran == i + 1; })) << "task " << i;
  }
}

// requirement: tasks that a loop submits after `pump` do not wait for other events
TEST_P(EventFd, SubmitAfterPumpMakesItReadable) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(becomes_quiet());
    rt().pump();
    std::atomic<bool> done{false};
    rt().submit(nothing(), {.device = last()}).then([&](std::exception_ptr) { done = true; });
    EXPECT_TRUE(loop_until([&] { return done.load(); }));
  }
}

// requirement: while a kernel runs and nothing else happens, the loop sleeps; the end of the kernel
// wakes it
TEST_P(EventFd, RunningKernelIsQuietUntilItEnds) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ASSERT_TRUE(becomes_quiet());
  ASSERT_TRUE(eventually([&] { return word.started(); }));
  EXPECT_FALSE(held.ready());
  EXPECT_TRUE(becomes_quiet());
  word.release();
  EXPECT_TRUE(readable(event_fd(rt()), test_timeout)) << "the end of a task without a continuation";
  EXPECT_TRUE(loop_until([&] { return held.ready(); }));
}

// requirement: a chain through all devices, with copies and callables, needs only the loop
TEST_P(EventFd, ChainThroughAllDevicesNeedsOnlyTheLoop) {
  constexpr int rounds = 10;
  device_word value{rt(), first()};
  std::vector<std::uint32_t> host(1);
  std::atomic<bool> done{false};
  std::atomic<int> callables{0};
  std::optional<ticket> before;
  auto const after = [&] { return before ? dependency_list{*before} : dependency_list{}; };
  for (int i = 0; i < rounds; ++i) {
    before = rt().submit(value.buffer().fill(static_cast<std::uint32_t>(i)), {.after = after()});
    for (device_ordinal const each : ordinals()) {
      before = rt().submit(nothing(), {.device = each, .after = after()});
    }
    before = rt().submit([&](task_context&) { ++callables; }, {.device = last(), .after = after()});
    before = rt().submit(value.buffer().copy_to(std::span{host}), {.after = after()});
  }
  before->then([&](std::exception_ptr why) { done = why == nullptr; });
  EXPECT_TRUE(loop_until([&] { return done.load(); }));
  EXPECT_EQ(callables, rounds);
  EXPECT_EQ(host[0], static_cast<std::uint32_t>(rounds - 1));
}

// requirement: one `pump` runs at most 64 continuations, and the rest makes the loop pump again
TEST_P(EventFd, ManyContinuationsOfOneTask) {
  constexpr int count = 200;
  std::atomic<int> ran{0};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  for (int i = 0; i < count; ++i) {
    held.then([&](std::exception_ptr) { ++ran; });
  }
  ASSERT_TRUE(becomes_quiet());
  word.release();
  EXPECT_TRUE(loop_until([&] { return ran == count; })) << ran << " of " << count;
}

// requirement: continuations that submit and attach again keep the loop going
TEST_P(EventFd, ContinuationsThatSubmitKeepTheLoopGoing) {
  constexpr int rounds = 100;
  std::atomic<int> left{rounds};
  std::function<void(std::exception_ptr)> again = [&](std::exception_ptr) {
    if (--left > 0) { rt().submit(nothing(), {.device = last()}).then(again); }
  };
  rt().submit(nothing(), {.device = first()}).then(again);
  EXPECT_TRUE(loop_until([&] { return left == 0; })) << left << " rounds are left";
  rt().wait_idle();
}

// requirement: a continuation that becomes due without the end of a task, because it was attached
// late
TEST_P(EventFd, ContinuationOfAnEndedTaskMakesItReadable) {
  ticket const task = rt().submit(nothing(), {.device = last()});
  task.wait();
  ASSERT_TRUE(becomes_quiet());
  std::atomic<bool> ran{false};
  std::thread{[&] { task.then([&](std::exception_ptr) { ran = true; }); }}.join();
  EXPECT_TRUE(loop_until([&] { return ran.load(); }));
}

// requirement: after `try_submit` was refused, the loop sleeps until there is room
TEST_P(EventFd, FullWindowWakesTheLoopWhenThereIsRoom) {
  runtime_options small = options();
  small.window = 64;
  start(small);
  constexpr int count = 1000;
  std::atomic<int> ended{0};
  int submitted = 0;
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  // Submits until the window is full or all tasks are submitted. The first tasks wait for `held`,
  // so the window stays full until the word is released.
  auto const submit_more = [&] {
    while (submitted < count) {
      std::optional<ticket> const task =
          rt().try_submit(nothing(), {.device = last(), .after = {held}});
      if (!task) { return; }
      ++submitted;
      task->then([&](std::exception_ptr) { ++ended; });
    }
  };
  submit_more();
  ASSERT_LT(submitted, 64) << "the window must be full";
  word.release();
  EXPECT_TRUE(loop_until([&] {
    submit_more();
    return ended == count;
  })) << submitted
      << " submitted, " << ended << " ended";
}

// requirement: a refused launch fails while it is launched, and its continuation gets the error
TEST_P(EventFd, FailuresWakeTheLoop) {
  std::atomic<bool> failed{false};
  ASSERT_TRUE(becomes_quiet());
  rt().submit(refused_launch(program()), {.device = last()}).then([&](std::exception_ptr why) {
    failed = why != nullptr;
  });
  EXPECT_TRUE(loop_until([&] { return failed.load(); }));
}

// error guess: `pump` inside a continuation or a callable runs no continuations, so it must not
// make the loop forget them
TEST_P(EventFd, PumpInsideACallableForgetsNothing) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) {
    rt().submit(nothing(), {.device = first()}).then([&](std::exception_ptr) {
      rt().pump();
      ++ran;
    });
    rt().submit([&](task_context&) { rt().pump(); }, {.device = last()})
        .then([&](std::exception_ptr) { ++ran; });
  }
  EXPECT_TRUE(loop_until([&] { return ran == 40; })) << ran << " of 40";
}

// error guess: a wait of another thread drains the devices and takes events away from the loop
TEST_P(EventFd, WaitsOfOtherThreadsForgetNothing) {
  constexpr int count = 100;
  std::atomic<int> ran{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) { rt().submit(nothing(), {.device = last()}).wait(); }
  });
  for (int i = 0; i < count; ++i) {
    ticket const task = rt().submit(nothing(), {.device = last()});
    task.then([&](std::exception_ptr) { ++ran; });
    EXPECT_TRUE(loop_until([&] { return ran == i + 1; })) << "task " << i;
  }
  stop = true;
  other.join();
}

}  // namespace
}  // namespace flotilla::test
