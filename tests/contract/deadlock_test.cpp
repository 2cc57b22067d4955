// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A wait is refused if no thread except the waiting thread could run the awaited task. All other
// waits end.

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Deadlock : public contract_test {};
FLOTILLA_CONTRACT(Deadlock);

// requirement
TEST_P(Deadlock, WaitForAnUnlaunchedTaskOfTheSameDeviceThrows) {
  device_word value{rt(), last(), 1};
  ticket inner;
  std::string message;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 3u));
            message = thrown<would_deadlock>([&] { inner.wait(); });
          },
          {.device = last()})
      .wait();
  EXPECT_FALSE(message.empty());
  inner.wait();  // the refused wait did not lose the task
  EXPECT_EQ(value.read(), 5u);
}

// requirement
TEST_P(Deadlock, WaitForACallableOfTheSameDeviceThrows) {
  ticket inner;
  int ran = 0;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit([&](task_context&) { ++ran; }, {.device = last()});
            EXPECT_THROW(inner.wait(), would_deadlock);
            EXPECT_EQ(ran, 0) << "a callable ran inside another callable of the same device";
          },
          {.device = last()})
      .wait();
  inner.wait();
  EXPECT_EQ(ran, 1);
}

// requirement
TEST_P(Deadlock, WaitOfACallableForItselfThrows) {
  ticket self;
  latch known;
  std::string message;
  ticket submitted = rt().submit(
      [&](task_context&) {
        known.wait();
        message = thrown<would_deadlock>([&] { self.wait(); });
      },
      {.device = first()});
  self = std::move(submitted);
  known.open();
  self.wait();
  EXPECT_FALSE(message.empty());
}

// requirement. regression: the wait never ended, because only the thread inside the callable could
// see that the kernel had ended
TEST_P(Deadlock, WaitForAHostTaskBehindAKernelOfTheSameDeviceThrows) {
  held_word word{rt()};
  ticket const kernel = rt().submit(word.launch_of(program()), {.device = first()});
  ticket const on_host = rt().submit(host_task([] {}), {.after = {kernel}});
  std::string message;
  ticket const task = rt().submit(
      [&](task_context&) {
        word.release();
        std::this_thread::sleep_for(std::chrono::milliseconds{5});  // the kernel ends
        message = thrown<would_deadlock>([&] { on_host.wait(); });
      },
      {.device = first()});
  task.wait();
  EXPECT_FALSE(message.empty());
  on_host.wait();
}

// requirement. regression: the wait never ended, except in single-threaded mode
TEST_P(Deadlock, WaitOfAHostTaskForItselfThrows) {
  ticket self;
  latch known;
  std::string message;
  ticket submitted = rt().submit(host_task([&] {
    known.wait();
    message = thrown<would_deadlock>([&] { self.wait(); });
  }));
  self = std::move(submitted);
  known.open();
  self.wait();
  EXPECT_FALSE(message.empty());
}

// requirement. regression: the wait never ended, except in single-threaded mode
TEST_P(Deadlock, WaitOfAHostTaskForATaskAfterItThrows) {
  ticket last;
  latch known;
  std::string message;
  ticket const mine = rt().submit(host_task([&] {
    known.wait();
    message = thrown<would_deadlock>([&] { last.wait(); });
  }));
  ticket const middle = rt().submit([](task_context&) {}, {.device = first(), .after = {mine}});
  last = rt().submit(host_task([] {}), {.after = {middle}});
  known.open();
  last.wait();
  EXPECT_FALSE(message.empty());
}

// requirement
TEST_P(Deadlock, WaitIdleInsideACallableThrows) {
  std::string message;
  rt().submit([&](task_context&) { message = thrown<would_deadlock>([&] { rt().wait_idle(); }); })
      .wait();
  EXPECT_FALSE(message.empty());
}

// requirement
TEST_P(Deadlock, WaitIdleInsideAContinuationThrows) {
  std::string message;
  ticket const task = rt().submit(program().nothing.with_shape({1}, {1})());
  task.then(
      [&](std::exception_ptr) { message = thrown<would_deadlock>([&] { rt().wait_idle(); }); });
  rt().wait_idle();
  EXPECT_NE(message.find("continuation"), std::string::npos) << message;
}

// requirement: a callable may wait for a launched task of its device, because that task ends
// without help from the waiting thread
TEST_P(Deadlock, WaitForALaunchedTaskOfTheSameDeviceEnds) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  bool returned = false;
  rt().submit(
          [&](task_context&) {
            EXPECT_FALSE(held.ready());
            word.release();
            held.wait();
            returned = true;
          },
          {.device = last()})
      .wait();
  EXPECT_TRUE(returned);
}

// requirement
TEST_P(Deadlock, WaitForAnEndedTaskInsideACallableReturns) {
  ticket const good = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  ticket const bad =
      rt().submit([](task_context&) { throw std::runtime_error{"bad"}; }, {.device = last()});
  good.wait();
  EXPECT_THROW(bad.wait(), std::runtime_error);
  std::string message;
  rt().submit(
          [&](task_context&) {
            good.wait();
            message = thrown<std::runtime_error>([&] { bad.wait(); });
          },
          {.device = last()})
      .wait();
  EXPECT_THAT(message, HasSubstr("bad"));
}

// requirement: if a callable waits for a task of another device, the wait ends or is refused. In
// both cases the task runs
TEST_P(Deadlock, WaitForATaskOfAnotherDeviceEndsOrThrows) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  device_word value{rt(), first(), 1};
  ticket inner;
  int answers = 0;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 3u));
            try {
              inner.wait();
              EXPECT_TRUE(inner.ready());
              ++answers;
            } catch (would_deadlock const&) { ++answers; }
          },
          {.device = last()})
      .wait();
  EXPECT_EQ(answers, 1);
  inner.wait();
  EXPECT_EQ(value.read(), 5u);
}

// requirement: inside a callable, a timed wait for an unlaunched task of the same device throws or
// times out
TEST_P(Deadlock, LimitedWaitForAnUnlaunchedTaskThrowsOrTimesOut) {
  ticket inner;
  bool ended = true;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
            try {
              ended = inner.wait_for(std::chrono::milliseconds{1});
            } catch (would_deadlock const&) { ended = false; }
          },
          {.device = last()})
      .wait();
  EXPECT_FALSE(ended);
  inner.wait();
}

// requirement: if two callables on two devices wait for each other, at least one wait is refused
TEST_P(Deadlock, CrossWaitsOfTwoCallablesEnd) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  std::array<ticket, 2> tickets;
  latch known;
  std::atomic<int> refused{0};
  auto const waiting_for = [&](std::size_t other) {
    return [&, other](task_context&) {
      known.wait();
      try {
        tickets[other].wait();
      } catch (would_deadlock const&) { ++refused; }
    };
  };
  {
    // A worker may run the first callable at once, so the latch blocks the callables until both
    // tickets are assigned.
    open_on_exit const opening{known};
    tickets[0] = rt().submit(waiting_for(1), {.device = first()});
    tickets[1] = rt().submit(waiting_for(0), {.device = last()});
  }
  std::jthread const beside{[&] { tickets[1].wait(); }};
  tickets[0].wait();
  tickets[1].wait();
  EXPECT_GE(refused, 1) << "two callables waited for each other, and no wait was refused";
}

// error guess: two callables on two devices end, even if each of them allocates memory on the
// device of the other callable
TEST_P(Deadlock, CallablesThatAllocateOnEachOthersDeviceEnd) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  std::atomic<int> inside{0}, answers{0};
  auto const allocating_on = [&](device_ordinal other) {
    return [&, other](task_context&) {
      ++inside;
      EXPECT_TRUE(eventually([&] { return inside == 2; }))
          << "two threads wait, so both callables must run at the same time";
      try {
        device_buffer<int> there{rt(), other, 10};
        ++answers;
      } catch (would_deadlock const&) { ++answers; }
    };
  };
  std::jthread const beside{
      [&] { rt().submit(allocating_on(first()), {.device = last()}).wait(); }};
  rt().submit(allocating_on(last()), {.device = first()}).wait();
  EXPECT_TRUE(pumping(rt(), [&] { return answers == 2; }));
}

// error guess: a callable waits for a task of another device. The wait is refused if that task
// depends on an unlaunched task of the callable's own device
TEST_P(Deadlock, WaitForASuccessorOfAnUnlaunchedTaskThrows) {
  ticket inner, behind;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
            behind = rt().submit(program().nothing.with_shape({1}, {1})(),
                                 {.device = first(), .after = {inner}});
            EXPECT_THROW(behind.wait(), would_deadlock);
          },
          {.device = last()})
      .wait();
  behind.wait();
}

}  // namespace
}  // namespace flotilla::test
