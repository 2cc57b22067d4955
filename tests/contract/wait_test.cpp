// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tickets: `ready`, `wait`, and the errors that a ticket stores.

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Wait : public contract_test {};
FLOTILLA_CONTRACT(Wait);

struct my_error : std::logic_error {
  explicit my_error(int number) : std::logic_error{"mine"}, code{number} {}
  int code;
};

// requirement
TEST_P(Wait, EveryWaitThrowsTheCallablesException) {
  ticket const bad = rt().submit([](task_context&) { throw my_error{17}; });
  for (int i = 0; i < 3; ++i) {
    try {
      bad.wait();
      ADD_FAILURE() << "nothing was thrown";
    } catch (my_error const& error) { EXPECT_EQ(error.code, 17); }
  }
  EXPECT_TRUE(bad.ready());
  EXPECT_THROW((void)bad.wait_for(std::chrono::seconds{0}), my_error)
      << "a timed wait must also throw the callable's exception";
}

// error guess: a callable may throw an object that is not a std::exception
TEST_P(Wait, AnyThrownObjectIsRethrown) {
  ticket const bad = rt().submit([](task_context&) { throw 42; });
  try {
    bad.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (int number) { EXPECT_EQ(number, 42); }
}

// requirement
TEST_P(Wait, TimedWaitTellsWhetherTheTaskEnded) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  EXPECT_FALSE(held.wait_for(std::chrono::milliseconds{2}));
  EXPECT_FALSE(held.wait_for(std::chrono::nanoseconds{0}));
  EXPECT_FALSE(held.wait_until(std::chrono::steady_clock::now() - std::chrono::hours{1}));
  EXPECT_FALSE(held.ready());
  word.release();
  EXPECT_TRUE(held.wait_for(test_timeout));
  EXPECT_TRUE(held.ready());
}

// requirement: a thread in a timed wait drains devices, so a timed wait needs no worker
TEST_P(Wait, TimedWaitLaunchesItsTask) {
  device_word value{rt(), last(), 4};
  ticket const done = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u));
  EXPECT_TRUE(done.wait_for(test_timeout));
  EXPECT_EQ(value.read(), 9u);
}

// requirement: in single-threaded mode (without workers), repeated calls of `ready` make progress
TEST_P(Wait, ReadyBecomesTrueWithoutAWait) {
  ticket const done = rt().submit(program().nothing.with_shape({1}, {1})());
  if (worker_count() == 0) {
    EXPECT_TRUE(eventually([&] { return done.ready(); }));
  } else {
    EXPECT_TRUE(pumping(rt(), [&] { return done.ready(); }));
  }
  done.wait();
}

// requirement
TEST_P(Wait, WaitEndsUnderEveryPolicy) {
  for (wait_policy const how :
       {wait_policy::automatic, wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    int ran = 0;
    rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}).wait(how);
    rt().submit([&](task_context&) { ++ran; }, {.device = last()}).wait(how);
    EXPECT_EQ(ran, 1) << to_string(how);
  }
}

// requirement: with every wait policy, a thread that waits for an open task returns when the task
// ends
TEST_P(Wait, WaitForAHeldTaskEndsUnderEveryPolicy) {
  for (wait_policy const how :
       {wait_policy::automatic, wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    held_word word{rt()};
    ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
    std::jthread const releaser{[&] {
      // Release the kernel after the waiting thread has launched it.
      EXPECT_TRUE(eventually([&] { return word.started(); }));
      word.release();
    }};
    held.wait(how);
    EXPECT_TRUE(held.ready()) << to_string(how);
  }
}

// requirement
TEST_P(Wait, ManyThreadsMayWaitForOneTicket) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const bad =
      rt().submit([](task_context&) { throw my_error{1}; }, {.device = last(), .after = {held}});
  std::atomic<int> good_ends{0}, bad_ends{0};
  {
    std::vector<std::jthread> team;
    for (int i = 0; i < 6; ++i) {
      team.emplace_back([&] {
        held.wait();
        ++good_ends;
        try {
          bad.wait();
        } catch (my_error const&) { ++bad_ends; } catch (dependency_failed const&) {
          ADD_FAILURE() << "dependency_failed was thrown, but the predecessor did not fail";
        }
      });
    }
    EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
    word.release();
  }
  EXPECT_EQ(good_ends, 6);
  EXPECT_EQ(bad_ends, 6);
}

// requirement: a waiting thread runs the callable that it waits for, even if another thread
// submitted that callable
TEST_P(Wait, WaitRunsACallableThatAnotherThreadSubmitted) {
  int ran = 0;
  ticket const done = rt().submit([&](task_context&) { ++ran; }, {.device = last()});
  std::thread{[&] { done.wait(); }}.join();
  EXPECT_EQ(ran, 1);
}

// requirement
TEST_P(Wait, EmptyTicketIsRefused) {
  ticket empty;
  EXPECT_FALSE(empty.valid());
  EXPECT_THROW((void)empty.ready(), invalid_argument);
  EXPECT_THROW(empty.wait(), invalid_argument);
  EXPECT_THROW((void)empty.wait_for(std::chrono::seconds{0}), invalid_argument);
  EXPECT_THROW((void)empty.device(), invalid_argument);
  ticket real = rt().submit([](task_context&) {});
  empty = std::move(real);
  EXPECT_FALSE(real.valid());
  EXPECT_THROW(real.wait(), invalid_argument);
  EXPECT_TRUE(empty.valid());
  empty.wait();
}

// requirement
TEST_P(Wait, TicketsOutliveTheirRuntime) {
  ticket const good = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  ticket const bad = rt().submit([](task_context&) { throw my_error{5}; }, {.device = last()});
  ticket const refused =
      rt().submit(refused_launch(program()), {.device = first(), .label = "left behind"});
  stop();
  EXPECT_TRUE(good.ready());
  good.wait();
  EXPECT_TRUE(good.wait_for(std::chrono::seconds{0}));
  EXPECT_EQ(good.device(), last());
  EXPECT_TRUE(bad.ready());
  EXPECT_THROW(bad.wait(), my_error);
  EXPECT_THAT(thrown<driver_error>([&] { refused.wait(); }), HasSubstr("left behind"));
}

}  // namespace
}  // namespace flotilla::test
