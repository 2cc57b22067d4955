// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `ticket::cancel`: tasks that are not launched yet.

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "contract/continuation.hpp"
#include "support/launch_gate.hpp"

namespace flotilla::test {
namespace {

class Cancel : public contract_test {
 protected:
  launch add(device_word& to, std::uint32_t amount = 1) {
    return program().add.with_shape({1}, {1})(to.buffer(), amount);
  }
};
FLOTILLA_CONTRACT(Cancel);

// requirement: a task that is not launched yet does not run. Its ticket throws task_cancelled,
// which names the task
TEST_P(Cancel, UnlaunchedTaskDoesNotRun) {
  for (device_ordinal const device : ordinals()) {
    device_word sum{rt(), device};
    launch_gate gate{rt(), program(), last()};
    ticket const task = rt().submit(add(sum), {.label = "step 3", .after = {gate.gate()}});
    for (int i = 0; i < 3; ++i) { rt().pump(); }
    EXPECT_TRUE(task.cancel());
    EXPECT_TRUE(task.cancel()) << "the task is cancelled already";
    gate.open();
    std::string const text = thrown<task_cancelled>([&] { task.wait(); });
    EXPECT_THAT(text, HasSubstr("step 3"));
    EXPECT_THAT(text, EndsWith("was cancelled before it was launched"));
    EXPECT_TRUE(task.cancel()) << "the task has ended because it was cancelled";
    gate.gate().wait();
    EXPECT_EQ(sum.read(), 0u);
  }
}

// requirement: launches, fills, copies and callables can be cancelled, whether or not they name a
// device. The captures of a cancelled callable are destroyed
TEST_P(Cancel, EveryKindOfTaskCanBeCancelled) {
  device_word sum{rt(), last(), 5};
  std::uint32_t source = 7, destination = 8;
  auto const owned = std::make_shared<std::atomic<int>>(0);
  launch_gate gate{rt(), program(), first()};
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(add(sum), {.after = {gate.gate()}, .batch = false}));
  tasks.push_back(rt().submit(add(sum), {.after = {gate.gate()}, .priority = -2}));
  tasks.push_back(rt().submit(sum.buffer().fill(9), {.after = {gate.gate()}}));
  tasks.push_back(rt().submit(sum.buffer().copy_from(std::span<std::uint32_t const>{&source, 1}),
                              {.after = {gate.gate()}}));
  tasks.push_back(
      rt().submit(sum.buffer().copy_to(std::span{&destination, 1}), {.after = {gate.gate()}}));
  tasks.push_back(rt().submit(program().nothing.with_shape({1}, {1})(), {.after = {gate.gate()}}));
  tasks.push_back(rt().submit([owned](task_context&) { ++*owned; }, {.after = {gate.gate()}}));
  tasks.push_back(rt().submit([owned](task_context&) { ++*owned; },
                              {.device = last(), .after = {gate.gate()}}));
  for (ticket const& each : tasks) { EXPECT_TRUE(each.cancel()); }
  gate.open();
  for (ticket const& each : tasks) { EXPECT_THROW(each.wait(), task_cancelled); }
  EXPECT_EQ(sum.read(), 5u);
  EXPECT_EQ(destination, 8u);
  EXPECT_EQ(*owned, 0);
  EXPECT_TRUE(pumping(rt(), [&] { return owned.use_count() == 1; }));
}

// requirement: the successors of a cancelled task do not run, and their error contains the cause
TEST_P(Cancel, SuccessorsFailWithTheCause) {
  device_word sum{rt(), last()};
  launch_gate gate{rt(), program(), last()};
  ticket const task = rt().submit(add(sum), {.label = "the first", .after = {gate.gate()}});
  ticket const second = rt().submit(add(sum), {.after = {task}});
  ticket const third = rt().submit([](task_context&) {}, {.device = first(), .after = {second}});
  std::string seen;
  ticket const observer = rt().submit(
      host_task([&](std::exception_ptr why) { seen = message_of(why); }), {.after = {task}});
  EXPECT_TRUE(task.cancel());
  gate.open();
  for (ticket const* each : {&second, &third}) {
    std::string const text = thrown<dependency_failed>([&] { each->wait(); });
    EXPECT_THAT(text,
                AllOf(HasSubstr("the first"), EndsWith("was cancelled before it was launched")));
  }
  try {
    second.wait();
  } catch (dependency_failed const& why) {
    EXPECT_THROW(std::rethrow_exception(why.cause()), task_cancelled);
  }
  observer.wait();
  EXPECT_THAT(seen, HasSubstr("was cancelled"));
  EXPECT_EQ(sum.read(), 0u);
  EXPECT_FALSE(second.cancel()) << "it failed, but it was not cancelled";
}

// requirement: a task whose launch has begun runs to its end, and an ended task is not cancelled
TEST_P(Cancel, LaunchedAndEndedTasksAreNotCancelled) {
  held_word word{rt()};
  ticket const running = rt().submit(word.launch_of(program()), {.device = last()});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(running.cancel());
  word.release();
  EXPECT_NO_THROW(running.wait());
  EXPECT_FALSE(running.cancel());
  ticket const failed = rt().submit([](task_context&) { throw my_error{}; });
  EXPECT_THROW(failed.wait(), my_error);
  EXPECT_FALSE(failed.cancel());
}

// requirement: a callable that runs cannot be cancelled, not even by itself; it may cancel others
TEST_P(Cancel, CallableMayCancelOthersButNotItself) {
  std::atomic<ticket const*> self{nullptr};
  std::atomic<bool> cancelled_self{true}, cancelled_other{false}, called{false};
  launch_gate gate{rt(), program(), last()};
  ticket const other =
      rt().submit(program().nothing.with_shape({1}, {1})(), {.after = {gate.gate()}});
  ticket const task = rt().submit([&](task_context&) {
    while (self == nullptr) {}
    cancelled_self = self.load()->cancel();
    cancelled_other = other.cancel();
    called = true;
  });
  self = &task;
  // A CPU device runs one kernel at a time, so the task may end only after the gate was opened.
  EXPECT_TRUE(pumping(rt(), [&] { return called.load(); }));
  gate.open();
  task.wait();
  EXPECT_FALSE(cancelled_self);
  EXPECT_TRUE(cancelled_other);
  EXPECT_THROW(other.wait(), task_cancelled);
}

// requirement: tasks can be cancelled while no thread has seen them yet. They end without waiting
// for their predecessors
TEST_P(Cancel, TasksInInboxesAreCancelled) {
  if (worker_count() != 0) { GTEST_SKIP() << "needs a runtime without workers"; }
  device_word sum{rt(), last()};
  launch_gate gate{rt(), program(), last()};
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(add(sum)));
  tasks.push_back(rt().submit(add(sum), {.after = {gate.gate()}}));
  tasks.push_back(rt().submit([](task_context&) { ADD_FAILURE() << "it ran"; }));
  tasks.push_back(rt().submit(add(sum), {.priority = -1}));
  ticket const kept = rt().submit(add(sum, 10));
  for (ticket const& each : tasks) { EXPECT_TRUE(each.cancel()); }
  for (ticket const& each : tasks) { EXPECT_THROW(each.wait(), task_cancelled); }
  gate.open();
  kept.wait();
  EXPECT_EQ(sum.read(), 10u);
}

// requirement: the ticket of a replay cannot cancel the replay, so no part of it is left out
TEST_P(Cancel, ReplayIsNotCancelled) {
  device_word here{rt(), first()}, there{rt(), last()};
  recording steps{rt()};
  recorded_task const one = steps.add(add(here));
  steps.add(add(there), {.after = {one}});
  for (unsigned i = 1; i <= 3; ++i) {
    launch_gate gate{rt(), program(), last()};
    ticket const replay = steps.replay({.after = {gate.gate()}});
    EXPECT_FALSE(replay.cancel());
    gate.open();
    EXPECT_NO_THROW(replay.wait());
    EXPECT_EQ(here.read(), i);
    EXPECT_EQ(there.read(), i);
  }
}

// requirement: a ticket without a task is refused, and a ticket that outlived its runtime answers
TEST_P(Cancel, TicketsWithoutATask) {
  EXPECT_THROW(ticket{}.cancel(), invalid_argument);
  ticket const old = rt().submit([](task_context&) {});
  stop();
  EXPECT_FALSE(old.cancel());
}

// requirement: if `cancel` returns true, the task did not run, and otherwise it ran exactly once,
// while tasks are launched in batches and chains
TEST_P(Cancel, AnswerIsRightDuringLaunches) {
  constexpr int rounds = 12, tasks = 120;
  for (int round = 0; round < rounds; ++round) {
    device_word sum{rt(), last()}, chained{rt(), last()};
    std::vector<ticket> open(tasks), followers(tasks);
    std::vector<char> answers(tasks, -1);
    std::atomic<int> submitted{0};
    std::jthread const canceller{[&] {
      for (int i = 0; i < tasks; i += 3) {
        while (submitted < i + 1 + round % 3 * 8 && submitted < tasks) {
          std::this_thread::yield();
        }
        std::size_t const at = static_cast<std::size_t>(i);
        std::atomic_ref{answers[at]}.store(open[at].cancel() ? 1 : 0);
      }
    }};
    for (std::size_t i = 0; i < tasks; ++i) {
      open[i] = rt().submit(add(sum), {.device = last()});
      submitted = static_cast<int>(i) + 1;
      followers[i] = rt().submit(add(chained), {.device = last(), .after = {open[i]}});
    }
    std::uint32_t ran = 0;
    for (std::size_t i = 0; i < tasks; ++i) {
      bool cancelled = false, follower_failed = false;
      try {
        open[i].wait();
        ++ran;
      } catch (task_cancelled const&) { cancelled = true; }
      try {
        followers[i].wait();
      } catch (dependency_failed const&) { follower_failed = true; }
      EXPECT_EQ(cancelled, follower_failed) << i;
      while (i % 3 == 0 && std::atomic_ref{answers[i]}.load() < 0) { std::this_thread::yield(); }
      EXPECT_EQ(cancelled, answers[i] == 1) << i;
    }
    EXPECT_EQ(sum.read(), ran);
    EXPECT_EQ(chained.read(), ran);
  }
}

}  // namespace
}  // namespace flotilla::test
