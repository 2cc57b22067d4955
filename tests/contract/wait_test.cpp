// Tickets: ready, wait, and the errors they keep.

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
TEST_P(Wait, ThrowsWhatTheCallableThrewAsOftenAsAsked) {
  ticket const bad = rt().submit([](task_context&) { throw my_error{17}; });
  for (int i = 0; i < 3; ++i) {
    try {
      bad.wait();
      ADD_FAILURE() << "nothing was thrown";
    } catch (my_error const& error) { EXPECT_EQ(error.code, 17); }
  }
  EXPECT_TRUE(bad.ready());
  EXPECT_THROW((void)bad.wait_for(std::chrono::seconds{0}), my_error)
      << "a limited wait throws it as well";
}

// error guess: what is thrown need not be a std::exception
TEST_P(Wait, ThrowsAnythingThatWasThrown) {
  ticket const bad = rt().submit([](task_context&) { throw 42; });
  try {
    bad.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (int number) { EXPECT_EQ(number, 42); }
}

// requirement
TEST_P(Wait, ForALimitedTimeTellsWhetherTheTaskEnded) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  EXPECT_FALSE(held.wait_for(std::chrono::milliseconds{2}));
  EXPECT_FALSE(held.wait_for(std::chrono::nanoseconds{0}));
  EXPECT_FALSE(held.wait_until(std::chrono::steady_clock::now() - std::chrono::hours{1}));
  EXPECT_FALSE(held.ready());
  word.release();
  EXPECT_TRUE(held.wait_for(patience));
  EXPECT_TRUE(held.ready());
}

// requirement: a limited wait helps like any other, so that no worker is needed
TEST_P(Wait, ForALimitedTimeLaunchesWhatIsWaitedFor) {
  device_word const value{rt(), last(), 4};
  ticket const done = rt().submit(program().step.on({1}, {1})(value.buffer(), 2u, 1u));
  EXPECT_TRUE(done.wait_for(patience));
  EXPECT_EQ(value.read(), 9u);
}

// requirement: in single-threaded mode ready() alone makes progress
TEST_P(Wait, ReadyComesTrue) {
  ticket const done = rt().submit(program().nothing.on({1}, {1})());
  if (worker_count() == 0) {
    EXPECT_TRUE(eventually([&] { return done.ready(); }));
  } else {
    EXPECT_TRUE(pumping(rt(), [&] { return done.ready(); }));
  }
  done.wait();
}

// requirement
TEST_P(Wait, EndsUnderEveryPolicy) {
  for (schedule const how :
       {schedule::automatic, schedule::spin, schedule::yield, schedule::blocking}) {
    int ran = 0;
    rt().submit(program().nothing.on({1}, {1})(), {.device = last()}).wait(how);
    rt().submit([&](task_context&) { ++ran; }, {.device = last()}).wait(how);
    EXPECT_EQ(ran, 1) << to_string(how);
  }
}

// requirement: also for a task that is released only while it is waited for
TEST_P(Wait, EndsUnderEveryPolicyWhenTheTaskIsHeld) {
  for (schedule const how :
       {schedule::automatic, schedule::spin, schedule::yield, schedule::blocking}) {
    held_word word{rt()};
    ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
    std::jthread const releaser{[&] {
      // The word is let go once the waiter has launched the kernel.
      EXPECT_TRUE(eventually([&] { return word.started(); }));
      word.release();
    }};
    held.wait(how);
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
    std::vector<std::jthread> crew;
    for (int i = 0; i < 6; ++i) {
      crew.emplace_back([&] {
        held.wait();
        ++good_ends;
        try {
          bad.wait();
        } catch (my_error const&) { ++bad_ends; } catch (dependency_failed const&) {
          ADD_FAILURE() << "its predecessor did not fail";
        }
      });
    }
    EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
    word.release();
  }
  EXPECT_EQ(good_ends, 6);
  EXPECT_EQ(bad_ends, 6);
}

// requirement: a thread that submitted nothing can wait for a callable of another, which nobody
// else runs
TEST_P(Wait, RunsACallableOfAnotherThreadThatIsWaitedFor) {
  int ran = 0;
  ticket const done = rt().submit([&](task_context&) { ++ran; }, {.device = last()});
  std::thread{[&] { done.wait(); }}.join();
  EXPECT_EQ(ran, 1);
}

// requirement
TEST_P(Wait, TicketThatNamesNoTaskSaysSo) {
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
  ticket const good = rt().submit(program().nothing.on({1}, {1})(), {.device = last()});
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
