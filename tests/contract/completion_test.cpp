// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Continuations that are attached to tasks and to completions.

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <flotilla/task/completion.hpp>

#include "contract/continuation.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Completion : public contract_test {};
FLOTILLA_CONTRACT(Completion);

// requirement
TEST_P(Completion, ContinuationRunsOnceAfterTheTaskHasEnded) {
  device_word value{rt(), last(), 4};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const task = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                                  {.device = last(), .after = {held}});
  std::atomic<int> ran{0};
  completion const end = task.then([&](std::exception_ptr why) {
    EXPECT_EQ(message_of(why), "none");
    EXPECT_TRUE(task.ready());
    EXPECT_EQ(current_context(), nullptr);
    ++ran;
  });
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(end.ready());
  EXPECT_FALSE(end.wait_for(std::chrono::milliseconds{1}));
  EXPECT_EQ(ran, 0);
  word.release();
  end.wait();
  EXPECT_TRUE(end.ready());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(value.read(), 9u);
  EXPECT_EQ(ran, 1);
}

// requirement: `then` runs its continuation even if the task has already ended
TEST_P(Completion, ContinuationOfAnEndedTaskRuns) {
  ticket const task = rt().submit([](task_context&) {});
  task.wait();
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) {
    task.then([&](std::exception_ptr why) {
          EXPECT_EQ(message_of(why), "none");
          ++ran;
        })
        .wait();
    EXPECT_EQ(ran, i + 1);
  }
}

// requirement: a continuation receives the error of its task or completion. An exception that the
// continuation throws becomes the error of the completion that `then` returned
TEST_P(Completion, ErrorsPassFromCompletionToContinuation) {
  ticket const bad = rt().submit([](task_context&) { throw my_error{}; }, {.device = last()});
  std::string first, second, third;
  completion const end = bad.then([&](std::exception_ptr why) {
    first = message_of(why);
    throw std::logic_error{"thrown by a continuation"};
  });
  completion const next = end.then([&](std::exception_ptr why) { second = message_of(why); });
  completion const after = next.then([&](std::exception_ptr why) { third = message_of(why); });
  after.wait();
  EXPECT_EQ(first, "mine");
  EXPECT_EQ(second, "thrown by a continuation");
  EXPECT_EQ(third, "none") << "an error must not pass on after a continuation received it";
  for (int i = 0; i < 2; ++i) { EXPECT_THROW(end.wait(), std::logic_error); }
  EXPECT_THROW((void)end.wait_for(std::chrono::seconds{0}), std::logic_error);
  next.wait();
  EXPECT_THROW(bad.wait(), my_error);
}

// requirement: if no one reads a completion's error, the error is printed and the program continues
TEST_P(Completion, UnobservedErrorIsPrinted) {
  ::testing::internal::CaptureStderr();
  ticket const task = rt().submit([](task_context&) {});
  task.then([](std::exception_ptr) { throw std::logic_error{"dropped on the floor"}; });
  stop();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("dropped on the floor"));
}

// requirement: a continuation runs even after the destruction of the task's ticket and of the
// completion that `then` returned
TEST_P(Completion, DroppedHandlesDropNoContinuation) {
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
TEST_P(Completion, WorkersRunContinuationsWithoutAWaiter) {
  if (worker_count() == 0 || GetParam().threads == tbb_threads::none ||
      GetParam().threads == tbb_threads::one) {
    GTEST_SKIP() << "needs a worker";
  }
  held_word word{rt()};
  std::atomic<int> ran{0};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  held.then([&](std::exception_ptr) {
        ++ran;
        rt().submit(program().nothing.with_shape({1}, {1})()).then([&](std::exception_ptr) {
          ++ran;
        });
      })
      .then([&](std::exception_ptr) { ++ran; });
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  // The worker may have stopped draining the device by now. When the task ends, a worker must drain
  // the device again.
  word.release();
  EXPECT_TRUE(eventually([&] { return ran == 3; })) << ran;
}

// requirement: in single-threaded mode (without workers), `pump` runs continuations and returns
// true while a continuation is open
TEST_P(Completion, PumpRunsContinuations) {
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

// requirement: a continuation may submit tasks and wait for tickets. A wait for a completion that
// has not ended is refused, because the continuation of that completion may need the waiting thread
TEST_P(Completion, ContinuationMaySubmitAndWaitForTickets) {
  device_word value{rt(), last(), 4};
  ticket const task = rt().submit([](task_context&) {}, {.device = first()});
  int refused = 0, ended = 0;
  completion inner_end;
  completion const end = task.then([&](std::exception_ptr) {
    ticket const inner = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u));
    inner.wait();
    inner_end = inner.then([](std::exception_ptr) {});
    try {
      inner_end.wait();  // returns if a worker has already run the continuation
      ++ended;
    } catch (would_deadlock const&) { ++refused; }
  });
  end.wait();
  EXPECT_EQ(value.read(), 9u);
  if (worker_count() == 0) { EXPECT_EQ(refused, 1) << "no other thread can run the continuation"; }
  EXPECT_EQ(refused + ended, 1);
  inner_end.wait();
}

// requirement: a callable may not wait for a completion, because the completion may depend on that
// callable
TEST_P(Completion, WaitForACompletionInsideACallableIsRefused) {
  std::atomic<int> ran{0};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  completion const end = held.then([&](std::exception_ptr) { ++ran; });
  ticket const inside = rt().submit(
      [&](task_context&) {
        EXPECT_FALSE(end.ready());
        EXPECT_THROW(end.wait(), would_deadlock);
        EXPECT_THROW((void)wait_any(held), would_deadlock);
        word.release();
      },
      {.device = first()});
  inside.wait();
  end.wait();
  EXPECT_EQ(ran, 1);
}

// requirement: every continuation runs exactly once, even if several threads attach continuations
// to tasks on several devices
TEST_P(Completion, ThousandsOfContinuationsRunExactlyOnce) {
  constexpr std::size_t threads = 3, tasks = 700;
  auto const nothing = program().nothing.with_shape({1}, {1})();
  std::vector<std::atomic<int>> ran(threads * tasks);
  {
    std::vector<std::jthread> team;
    for (std::size_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        std::vector<completion> ends;
        for (std::size_t i = 0; i < tasks; ++i) {
          ticket const task = rt().submit(nothing, {.device = i % 2 == 0 ? first() : last()});
          ends.push_back(task.then([&, t, i](std::exception_ptr) { ++ran[t * tasks + i]; }));
        }
        for (completion const& each : ends) { each.wait(); }
      });
    }
  }
  for (auto const& each : ran) { ASSERT_EQ(each, 1); }
}

// requirement: a long chain of continuations does not overflow the stack
TEST_P(Completion, LongChainOfContinuationsRunsInOrder) {
  constexpr int links = 20000;
  int ran = 0;
  completion end = rt().submit([](task_context&) {}).then([&](std::exception_ptr) { ++ran; });
  for (int i = 1; i < links; ++i) {
    end = end.then([&ran, i](std::exception_ptr) { ran += ran == i ? 1 : 0; });
  }
  end.wait();
  EXPECT_EQ(ran, links);
}

// error guess: functions refuse empty tickets and completions. The error for a list contains the
// index of the empty entry
TEST_P(Completion, EmptyHandlesAreRefused) {
  completion const none;
  EXPECT_FALSE(none.valid());
  EXPECT_THROW((void)none.ready(), invalid_argument);
  EXPECT_THROW(none.wait(), invalid_argument);
  EXPECT_THROW(none.then([](std::exception_ptr) {}), invalid_argument);
  std::vector<ticket> tasks(2);
  EXPECT_THROW(tasks[0].then([](std::exception_ptr) {}), invalid_argument);
  tasks[0] = rt().submit([](task_context&) {});
  EXPECT_THROW(tasks[0].then(std::function<void(std::exception_ptr)>{}), invalid_argument);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)when_all(tasks); }), HasSubstr("entry 1 "));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any(tasks); }), HasSubstr("entry 1 "));
  EXPECT_THROW((void)wait_any({}), invalid_argument);
  runtime other{options()};
  tasks[1] = other.submit([](task_context&) {});
  EXPECT_THAT(thrown<wrong_runtime>([&] { (void)when_all(tasks); }), HasSubstr("entry 1 "));
  EXPECT_THROW((void)wait_any(tasks), wrong_runtime);
  completion const of_nothing = when_all({});
  of_nothing.wait();
  bool ran = false;
  of_nothing.then([&](std::exception_ptr why) { ran = why == nullptr; }).wait();
  EXPECT_TRUE(ran);
}

// requirement: the runtime's destructor runs open continuations. Tickets and completions remain
// usable after the runtime is destroyed
TEST_P(Completion, RuntimeDestructorRunsOpenContinuations) {
  std::atomic<int> ran{0}, refused{0};
  ticket good = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  ticket bad = rt().submit([](task_context&) { throw my_error{}; });
  completion const end = good.then([&](std::exception_ptr) {
    ++ran;
    bad.then([&](std::exception_ptr why) { ran += message_of(why) == "mine" ? 1 : 100; });
  });
  rt().close();
  runtime& closing = rt();
  completion const last_one = good.then([&](std::exception_ptr) {
    ++ran;
    try {
      (void)closing.submit([](task_context&) {});
    } catch (runtime_closed const&) { ++refused; }
    throw my_error{};
  });
  stop();
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(end.ready());
  end.wait();
  EXPECT_THROW(last_one.wait(), my_error);
  std::string given;
  completion const late = bad.then([&](std::exception_ptr why) { given = message_of(why); });
  EXPECT_EQ(given, "mine")
      << "`then` must run the continuation at once if the runtime is destroyed";
  late.then([&](std::exception_ptr) { given += "!"; }).wait();
  EXPECT_EQ(given, "mine!");
  std::vector<ticket> both;
  both.push_back(std::move(good));
  both.push_back(std::move(bad));
  EXPECT_THROW(when_all(both).wait(), my_error);
  EXPECT_EQ(wait_any(both), 0u);
}

}  // namespace
}  // namespace flotilla::test
