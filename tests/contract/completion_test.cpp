// Completion without a waiting thread: then, when_all, the first of several.

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <flotilla/completion.hpp>

#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Completion : public contract_test {};
FLOTILLA_CONTRACT(Completion);

struct my_error : std::runtime_error {
  my_error() : std::runtime_error{"mine"} {}
};

/// What a continuation was given, in words.
std::string words(std::exception_ptr const& why) {
  if (why == nullptr) { return "well"; }
  try {
    std::rethrow_exception(why);
  } catch (std::exception const& known) {
    return known.what();
  } catch (...) { return "?"; }
}

// requirement
TEST_P(Completion, ThenRunsOnceAfterTheTaskHasEnded) {
  device_word const value{rt(), last(), 4};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const task = rt().submit(program().step.on({1}, {1})(value.buffer(), 2u, 1u),
                                  {.device = last(), .after = {held}});
  std::atomic<int> ran{0};
  completion const end = task.then([&](std::exception_ptr why) {
    EXPECT_EQ(words(why), "well");
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

// requirement: on a ticket that has ended as well, and never inside then()
TEST_P(Completion, ThenRunsForATaskThatHasEnded) {
  ticket const task = rt().submit([](task_context&) {});
  task.wait();
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) {
    task.then([&](std::exception_ptr why) {
          EXPECT_EQ(words(why), "well");
          ++ran;
        })
        .wait();
    EXPECT_EQ(ran, i + 1);
  }
}

// requirement: the outcome of a failed task is handed on; what the callable throws is its completion's
TEST_P(Completion, ErrorsTravel) {
  ticket const bad = rt().submit([](task_context&) { throw my_error{}; }, {.device = last()});
  std::string first, second, third;
  completion const end = bad.then([&](std::exception_ptr why) {
    first = words(why);
    throw std::logic_error{"thrown by a continuation"};
  });
  completion const next = end.then([&](std::exception_ptr why) { second = words(why); });
  completion const after = next.then([&](std::exception_ptr why) { third = words(why); });
  after.wait();
  EXPECT_EQ(first, "mine");
  EXPECT_EQ(second, "thrown by a continuation");
  EXPECT_EQ(third, "well") << "an error that was handed on is dealt with";
  for (int i = 0; i < 2; ++i) { EXPECT_THROW(end.wait(), std::logic_error); }
  EXPECT_THROW((void)end.wait_for(std::chrono::seconds{0}), std::logic_error);
  next.wait();
  EXPECT_THROW(bad.wait(), my_error);
}

// requirement: an error that nobody asks for is said, and ends nothing
TEST_P(Completion, AnErrorThatNobodyAsksForIsPrinted) {
  testing::internal::CaptureStderr();
  ticket const task = rt().submit([](task_context&) {});
  task.then([](std::exception_ptr) { throw std::logic_error{"dropped on the floor"}; });
  stop();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("dropped on the floor"));
}

// requirement: ticket and completion may be dropped while the continuation is open
TEST_P(Completion, DroppedHandlesDropNoContinuation) {
  held_word word{rt()};
  std::atomic<int> ran{0};
  {
    ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
    held.then([&](std::exception_ptr why) { ran += words(why) == "well" ? 1 : 100; });
    ticket const bad = rt().submit([](task_context&) { throw my_error{}; },
                                   {.device = last(), .after = {held}});
    bad.then([&](std::exception_ptr why) { ran += words(why) == "mine" ? 1 : 100; });
  }
  word.release();
  EXPECT_TRUE(pumping(rt(), [&] { return ran == 2; })) << ran;
}

// requirement: with workers nobody needs to wait or pump
TEST_P(Completion, WorkersRunContinuationsByThemselves) {
  if (worker_count() == 0 || GetParam().threads == tbb_threads::none ||
      GetParam().threads == tbb_threads::one) {
    GTEST_SKIP() << "needs a worker";
  }
  held_word word{rt()};
  std::atomic<int> ran{0};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  held.then([&](std::exception_ptr) {
        ++ran;
        rt().submit(program().nothing.on({1}, {1})()).then([&](std::exception_ptr) { ++ran; });
      })
      .then([&](std::exception_ptr) { ++ran; });
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  // The worker that launched it has had time to leave, and to look for nothing but its end.
  word.release();
  EXPECT_TRUE(eventually([&] { return ran == 3; })) << ran;
}

// requirement: in single-threaded mode pump alone does, and says that something is left
TEST_P(Completion, PumpRunsContinuations) {
  int ran = 0;
  if (worker_count() != 0) { GTEST_SKIP() << "single-threaded mode only"; }
  ticket const task = rt().submit(program().nothing.on({1}, {1})());
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

// requirement: a continuation may do what a thread does: submit, wait for tickets
TEST_P(Completion, ContinuationMaySubmitAndWaitForTickets) {
  device_word const value{rt(), last(), 4};
  ticket const task = rt().submit([](task_context&) {}, {.device = first()});
  bool refused = false;
  completion const end = task.then([&](std::exception_ptr) {
    ticket const inner = rt().submit(program().step.on({1}, {1})(value.buffer(), 2u, 1u));
    inner.wait();
    completion const never_waited_for = inner.then([](std::exception_ptr) {});
    try {
      never_waited_for.wait();  // has it come already? then the wait is no wait
    } catch (would_deadlock const&) { refused = true; }
  });
  end.wait();
  EXPECT_EQ(value.read(), 9u);
  if (worker_count() == 0) { EXPECT_TRUE(refused); }
}

// requirement: a wait for a completion inside a callable could be for itself
TEST_P(Completion, WaitInsideACallableIsRefused) {
  std::atomic<int> ran{0};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  completion const end = held.then([&](std::exception_ptr) { ++ran; });
  ticket const inside = rt().submit(
      [&](task_context&) {
        EXPECT_FALSE(end.ready());
        EXPECT_THROW(end.wait(), would_deadlock);
        EXPECT_THROW((void)wait_any({&held, 1}), would_deadlock);
        word.release();
      },
      {.device = first()});
  inside.wait();
  end.wait();
  EXPECT_EQ(ran, 1);
}

// requirement: thousands, on every device, from several threads, each exactly once
TEST_P(Completion, ThousandsRunExactlyOnce) {
  constexpr std::size_t threads = 3, tasks = 700;
  auto const nothing = program().nothing.on({1}, {1})();
  std::vector<std::atomic<int>> ran(threads * tasks);
  {
    std::vector<std::jthread> crew;
    for (std::size_t t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
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

// requirement: a long chain uses no stack
TEST_P(Completion, LongChainsRunInOrder) {
  constexpr int links = 20000;
  int ran = 0;
  completion end = rt().submit([](task_context&) {}).then([&](std::exception_ptr) { ++ran; });
  for (int i = 1; i < links; ++i) {
    end = end.then([&ran, i](std::exception_ptr) { ran += ran == i ? 1 : 0; });
  }
  end.wait();
  EXPECT_EQ(ran, links);
}

// requirement
TEST_P(Completion, WhenAllComesWithTheLast) {
  held_word word{rt()};
  std::vector<ticket> tasks;
  for (device_ordinal const each : ordinals()) {
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(rt().submit(program().nothing.on({1}, {1})(), {.device = each}));
    }
  }
  tasks.push_back(rt().submit(word.launch_of(program()), {.device = last()}));
  completion const all = when_all(tasks);
  EXPECT_FALSE(all.wait_for(std::chrono::milliseconds{2}));
  std::atomic<int> ran{0};
  completion const after = all.then([&](std::exception_ptr why) { ran += words(why) == "well" ? 1 : 100; });
  tasks.clear();
  word.release();
  after.wait();
  all.wait();
  EXPECT_EQ(ran, 1);
}

// requirement: every task has ended even where one fails, and the error is that task's
TEST_P(Completion, WhenAllKeepsAnError) {
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(program().nothing.on({1}, {1})(), {.device = last()}));
  tasks.push_back(rt().submit([](task_context&) { throw my_error{}; }, {.device = first()}));
  tasks.push_back(rt().submit(program().nothing.on({1}, {1})(), {.device = first()}));
  completion const all = when_all(tasks);
  EXPECT_THROW(all.wait(), my_error);
  for (ticket const& each : tasks) { EXPECT_TRUE(each.ready()); }
}

// requirement
TEST_P(Completion, WaitAnyFindsTheFirstThatEnds) {
  // The held kernel keeps a CPU device's one thread.
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  held_word word{rt()};
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(word.launch_of(program()), {.device = last()}));
  EXPECT_EQ(wait_any_for(tasks, std::chrono::milliseconds{2}), std::nullopt);
  tasks.push_back(rt().submit([](task_context&) { throw my_error{}; }, {.device = first()}));
  EXPECT_EQ(wait_any(tasks), 1u);
  EXPECT_THROW(tasks[1].wait(), my_error);
  word.release();
  tasks.pop_back();
  EXPECT_EQ(wait_any_for(tasks, patience), 0u);
  EXPECT_EQ(wait_any_until(tasks, std::chrono::steady_clock::now()), 0u);
}

// error guess: bad input is refused and named, and nothing is attached
TEST_P(Completion, RefusesWhatNamesNothing) {
  completion const none;
  EXPECT_FALSE(none.valid());
  EXPECT_THROW((void)none.ready(), invalid_argument);
  EXPECT_THROW(none.wait(), invalid_argument);
  EXPECT_THROW(none.then([](std::exception_ptr) {}), invalid_argument);
  std::vector<ticket> tasks(2);
  EXPECT_THROW(tasks[0].then([](std::exception_ptr) {}), invalid_argument);
  tasks[0] = rt().submit([](task_context&) {});
  EXPECT_THROW(tasks[0].then(std::function<void(std::exception_ptr)>{}), invalid_argument);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)when_all(tasks); }), HasSubstr("ticket 1"));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any(tasks); }), HasSubstr("ticket 1"));
  EXPECT_THROW((void)wait_any({}), invalid_argument);
  runtime other{options()};
  tasks[1] = other.submit([](task_context&) {});
  EXPECT_THAT(thrown<wrong_runtime>([&] { (void)when_all(tasks); }), HasSubstr("ticket 1"));
  EXPECT_THROW((void)wait_any(tasks), wrong_runtime);
  completion const of_nothing = when_all({});
  of_nothing.wait();
  bool ran = false;
  of_nothing.then([&](std::exception_ptr why) { ran = why == nullptr; }).wait();
  EXPECT_TRUE(ran);
}

// requirement: the end of a runtime runs what is open, and completions and tickets outlive it
TEST_P(Completion, TheEndOfTheRuntimeRunsWhatIsOpen) {
  std::atomic<int> ran{0}, refused{0};
  ticket good = rt().submit(program().nothing.on({1}, {1})(), {.device = last()});
  ticket bad = rt().submit([](task_context&) { throw my_error{}; });
  completion const end = good.then([&](std::exception_ptr) {
    ++ran;
    bad.then([&](std::exception_ptr why) { ran += words(why) == "mine" ? 1 : 100; });
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
  completion const late = bad.then([&](std::exception_ptr why) { given = words(why); });
  EXPECT_EQ(given, "mine") << "with no runtime it runs at once";
  late.then([&](std::exception_ptr) { given += "!"; }).wait();
  EXPECT_EQ(given, "mine!");
  std::vector<ticket> both;
  both.push_back(std::move(good));
  both.push_back(std::move(bad));
  EXPECT_THROW(when_all(both).wait(), my_error);
  EXPECT_EQ(wait_any(both), 0u);
}

class CompletionFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, CompletionFault, ::testing::Values(0, 1, 2, 8));

void fault_with_open_continuations(int workers, bool destroy_at_once) {
  std::atomic<int> ran{0}, poisoned_ones{0};
  auto const count = [&](std::exception_ptr why) {
    ++ran;
    try {
      if (why != nullptr) { std::rethrow_exception(why); }
    } catch (poisoned const&) { ++poisoned_ones; } catch (error const&) {
    }
  };
  int made = 0;
  {
    runtime rt{{.devices = device_spec(1), .workers = workers}};
    test_program const kernels{rt};
    ticket const before = rt.submit(kernels.nothing.on({1}, {1})());
    before.wait();
    std::string of_before;
    completion const well = before.then([&](std::exception_ptr why) { of_before = words(why); });
    ticket const trap = rt.submit(kernels.loaded.kernel<>("trap_now").on({1}, {1})());
    completion const end = trap.then(count);
    ++made;
    for (int i = 0; i < 100; ++i) {
      try {
        ticket const behind = rt.submit(kernels.nothing.on({1}, {1})(), {.after = {trap}});
        behind.then(count);
        ++made;
      } catch (poisoned const&) { break; }
    }
    if (!destroy_at_once) {
      end.wait();
      EXPECT_TRUE(pumping(rt, [&] { return ran == made; })) << ran << " of " << made;
      EXPECT_FALSE(rt.pump());
      trap.then(count).wait();  // poisoned already
      ++made;
      well.wait();
      EXPECT_EQ(of_before, "well");
    }
  }
  EXPECT_EQ(ran, made);
  EXPECT_EQ(poisoned_ones, made);
}

// requirement: a fault runs each open continuation once, with the error
TEST_P(CompletionFault, RunsEveryOpenContinuation) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_continuations(GetParam(), false); });
}

// requirement: also where nobody has looked before the runtime ends
TEST_P(CompletionFault, TheEndOfThePoisonedRuntimeRunsThem) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_continuations(GetParam(), true); });
}

}  // namespace
}  // namespace flotilla::test
