// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Continuations: functions that run after a task (ticket::then).

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <flotilla/task/wait_any.hpp>

#include "contract/continuation.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Continuation : public contract_test {};
FLOTILLA_CONTRACT(Continuation);

// requirement
TEST_P(Continuation, RunsOnceAfterTheTaskHasEnded) {
  device_word value{rt(), last(), 4};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const task = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                                  {.device = last(), .after = {held}});
  std::atomic<int> ran{0};
  task.then([&](std::exception_ptr why) {
    EXPECT_EQ(message_of(why), "none");
    EXPECT_TRUE(task.ready());
    EXPECT_EQ(current_context(), nullptr);
    ++ran;
  });
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_EQ(ran, 0);
  word.release();
  rt().wait_idle();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(value.read(), 9u);
  EXPECT_EQ(ran, 1);
}

// requirement: `then` runs its continuation even if the task has already ended
TEST_P(Continuation, RunsAfterAnEndedTask) {
  ticket const task = rt().submit([](task_context&) {});
  task.wait();
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) {
    task.then([&](std::exception_ptr why) {
      EXPECT_EQ(message_of(why), "none");
      ++ran;
    });
    rt().wait_idle();
    EXPECT_EQ(ran, i + 1);
  }
}

// requirement: a continuation receives the error of its task
TEST_P(Continuation, GetsTheError) {
  ticket const bad = rt().submit([](task_context&) { throw my_error{}; }, {.device = last()});
  std::string given;
  bad.then([&](std::exception_ptr why) { given = message_of(why); });
  rt().wait_idle();
  EXPECT_EQ(given, "mine");
  EXPECT_THROW(bad.wait(), my_error);
}

// requirement: an exception of a continuation is printed, and the program continues
TEST_P(Continuation, ExceptionIsPrinted) {
  ::testing::internal::CaptureStderr();
  ticket const task = rt().submit([](task_context&) {});
  task.then([](std::exception_ptr) { throw std::logic_error{"dropped on the floor"}; });
  stop();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("dropped on the floor"));
}

// requirement: a continuation runs even after the destruction of the task's ticket
TEST_P(Continuation, DroppedTicketsDropNoContinuation) {
  held_word word{rt()};
  std::atomic<int> ran{0};
  {
    ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
    held.then([&](std::exception_ptr why) { ran += message_of(why) == "none" ? 1 : 100; });
    ticket const bad =
        rt().submit([](task_context&) { throw my_error{}; }, {.device = last(), .after = {held}});
    bad.then([&](std::exception_ptr why) { ran += message_of(why) == "mine" ? 1 : 100; });
  }
  word.release();
  EXPECT_TRUE(pumping(rt(), [&] { return ran == 2; })) << ran;
}

// requirement: workers run continuations while no thread of the application waits or pumps
TEST_P(Continuation, WorkersRunContinuationsWithoutAWaiter) {
  if (worker_count() == 0 || GetParam().threads == tbb_threads::none ||
      GetParam().threads == tbb_threads::one) {
    GTEST_SKIP() << "needs a worker";
  }
  held_word word{rt()};
  std::atomic<int> ran{0};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  held.then([&](std::exception_ptr) {
    ++ran;
    rt().submit(program().nothing.with_shape({1}, {1})()).then([&](std::exception_ptr) { ++ran; });
  });
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  // The worker may have stopped draining the device by now. When the task ends, a worker must drain
  // the device again.
  word.release();
  EXPECT_TRUE(eventually([&] { return ran == 2; })) << ran;
}

// requirement: in single-threaded mode (without workers), `pump` runs continuations and returns
// true while a continuation is open
TEST_P(Continuation, PumpRunsContinuations) {
  int ran = 0;
  if (worker_count() != 0) { GTEST_SKIP() << "needs single-threaded mode"; }
  ticket const task = rt().submit(program().nothing.with_shape({1}, {1})());
  std::thread::id where;
  task.then([&](std::exception_ptr) {
    where = std::this_thread::get_id();
    EXPECT_NO_THROW((void)rt().pump());
    ++ran;
  });
  EXPECT_TRUE(eventually([&] { return !rt().pump(); }));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(where, std::this_thread::get_id());
}

// requirement: a continuation may submit tasks and wait for tickets
TEST_P(Continuation, MaySubmitAndWaitForTickets) {
  device_word value{rt(), last(), 4};
  ticket const task = rt().submit([](task_context&) {}, {.device = first()});
  std::atomic<int> ran{0};
  task.then([&](std::exception_ptr) {
    ticket const inner = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u));
    inner.wait();
    inner.then([&](std::exception_ptr) { ++ran; });
    ++ran;
  });
  rt().wait_idle();
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(value.read(), 9u);
}

// requirement: every continuation runs exactly once, even if several threads attach continuations
// to tasks on several devices
TEST_P(Continuation, ThousandsOfContinuationsRunExactlyOnce) {
  constexpr std::size_t threads = 3, tasks = 700;
  auto const nothing = program().nothing.with_shape({1}, {1})();
  std::vector<std::atomic<int>> ran(threads * tasks);
  {
    std::vector<std::jthread> team;
    for (std::size_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        for (std::size_t i = 0; i < tasks; ++i) {
          ticket const task = rt().submit(nothing, {.device = i % 2 == 0 ? first() : last()});
          task.then([&, t, i](std::exception_ptr) { ++ran[t * tasks + i]; });
        }
      });
    }
  }
  rt().wait_idle();
  for (auto const& each : ran) { ASSERT_EQ(each, 1); }
}

// requirement: continuations that attach the next one do not overflow the stack
TEST_P(Continuation, LongChainRunsInOrder) {
  constexpr int links = 20000;
  int ran = 0;
  ticket const task = rt().submit([](task_context&) {});
  std::function<void(std::exception_ptr)> const link = [&](std::exception_ptr) {
    if (++ran < links) { task.then(link); }
  };
  task.then(link);
  rt().wait_idle();
  EXPECT_EQ(ran, links);
}

// error guess: empty tickets and null functions are refused
TEST_P(Continuation, EmptyHandlesAreRefused) {
  ticket const none;
  EXPECT_THROW(none.then([](std::exception_ptr) {}), invalid_argument);
  ticket const task = rt().submit([](task_context&) {});
  EXPECT_THROW(task.then(std::function<void(std::exception_ptr)>{}), invalid_argument);
}

// requirement: the runtime's destructor runs open continuations. Tickets remain usable after the
// runtime is destroyed
TEST_P(Continuation, RuntimeDestructorRunsOpenContinuations) {
  std::atomic<int> ran{0}, refused{0};
  ticket good = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  ticket bad = rt().submit([](task_context&) { throw my_error{}; });
  good.then([&](std::exception_ptr) {
    ++ran;
    bad.then([&](std::exception_ptr why) { ran += message_of(why) == "mine" ? 1 : 100; });
  });
  rt().close();
  runtime& closing = rt();
  good.then([&](std::exception_ptr) {
    ++ran;
    try {
      (void)closing.submit([](task_context&) {});
    } catch (runtime_closed const&) { ++refused; }
  });
  stop();
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(refused, 1);
  std::string given;
  bad.then([&](std::exception_ptr why) { given = message_of(why); });
  EXPECT_EQ(given, "mine")
      << "`then` must run the continuation at once if the runtime is destroyed";
  std::vector<ticket> both;
  both.push_back(std::move(good));
  both.push_back(std::move(bad));
  EXPECT_EQ(wait_any(both), 0u);
}

}  // namespace
}  // namespace flotilla::test
