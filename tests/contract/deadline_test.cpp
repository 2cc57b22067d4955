// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `task_options::deadline`: tasks that do not begin in time end with timed_out and never run.

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "contract/continuation.hpp"
#include "contract/deadline_fixture.hpp"
#include "support/readable.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class Deadline : public deadline_test {};
FLOTILLA_CONTRACT(Deadline);

// requirement: a task that waits for a predecessor ends at its deadline, while the predecessor
// still runs. It never runs, and its error names it
TEST_P(Deadline, ATaskBehindARunningTaskEnds) {
  for (device_ordinal const device : ordinals()) {
    device_word sum{rt(), device};
    launch_gate gate{rt(), program(), last()};
    ticket const task =
        rt().submit(add(sum), {.label = "step 3", .after = {gate.gate()}, .deadline = soon()});
    EXPECT_THAT(thrown<timed_out>([&] { task.wait(); }),
                AllOf(HasSubstr("step 3"), EndsWith("did not begin before its deadline")));
    EXPECT_FALSE(gate.gate().ready());
    EXPECT_TRUE(task.cancel()) << "it will not run";
    gate.open();
    gate.gate().wait();
    rt().wait_idle();
    EXPECT_EQ(sum.read(), 0u);
  }
}

// requirement: launches, fills, copies, callables and host tasks have deadlines, whether or not
// they name a device. The captures of functions are destroyed
TEST_P(Deadline, EveryKindOfTaskHasOne) {
  device_word sum{rt(), last(), 5};
  std::uint32_t source = 7, destination = 8;
  auto const owned = std::make_shared<std::atomic<int>>(0);
  launch_gate gate{rt(), program(), first()};
  auto const with = [&](task_options options = {}) {
    options.after = {gate.gate()};
    options.deadline = soon();
    return options;
  };
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(add(sum), with({.batch = false})));
  tasks.push_back(rt().submit(add(sum), with({.priority = -2})));
  tasks.push_back(rt().submit(sum.buffer().fill(9), with()));
  tasks.push_back(
      rt().submit(sum.buffer().copy_from(std::span<std::uint32_t const>{&source, 1}), with()));
  tasks.push_back(rt().submit(sum.buffer().copy_to(std::span{&destination, 1}), with()));
  tasks.push_back(rt().submit(program().nothing.with_shape({1}, {1})(), with()));
  tasks.push_back(rt().submit([owned](task_context&) { ++*owned; }, with()));
  tasks.push_back(rt().submit([owned](task_context&) { ++*owned; }, with({.device = last()})));
  tasks.push_back(
      rt().submit(host_task([owned] { ++*owned; }), {.after = {gate.gate()}, .deadline = soon()}));
  for (ticket const& each : tasks) { EXPECT_THROW(each.wait(), timed_out); }
  EXPECT_FALSE(gate.gate().ready());
  gate.open();
  gate.gate().wait();
  EXPECT_TRUE(pumping(rt(), [&] { return owned.use_count() == 1; }));
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 5u);
  EXPECT_EQ(destination, 8u);
  EXPECT_EQ(*owned, 0);
}

// requirement: a task in the queue of a device that a callable blocks ends at its deadline
TEST_P(Deadline, ATaskOfABlockedDeviceEnds) {
  latch begun, may_end;
  open_on_exit const opener{may_end};
  ticket const blocking = rt().submit(
      [&](task_context&) {
        begun.open();
        may_end.wait();
      },
      {.device = last()});
  std::jthread const driver{[&] { blocking.wait(); }};
  begun.wait();
  int ran = 0;
  ticket const named =
      rt().submit([&](task_context&) { ++ran; }, {.device = last(), .deadline = soon()});
  ticket const after =
      rt().submit([&](task_context&) { ++ran; }, {.after = {named}, .deadline = soon()});
  EXPECT_THROW(named.wait(), timed_out);
  EXPECT_ANY_THROW(after.wait()) << "either its own deadline has passed or that of `named`";
  EXPECT_FALSE(blocking.ready());
  may_end.open();
  blocking.wait();
  rt().wait_idle();
  EXPECT_EQ(ran, 0);
}

// requirement: a task whose deadline has passed before the submit never runs
TEST_P(Deadline, DeadlineBeforeTheSubmit) {
  device_word sum{rt(), first()};
  for (device_ordinal const device : ordinals()) {
    EXPECT_THROW(rt().submit([](task_context&) { ADD_FAILURE() << "it ran"; },
                             {.device = device, .deadline = passed()})
                     .wait(),
                 timed_out);
  }
  EXPECT_THROW(rt().submit(add(sum), {.deadline = passed()}).wait(), timed_out);
  EXPECT_THROW(rt().submit(sum.buffer().fill(9), {.deadline = clock::time_point::min()}).wait(),
               timed_out);
  EXPECT_THROW(
      rt().submit(host_task([] { ADD_FAILURE() << "it ran"; }), {.deadline = passed()}).wait(),
      timed_out);
  EXPECT_EQ(sum.read(), 0u);
}

// requirement: a task that begins in time runs to its end, also after its deadline, and the
// deadline has no effect on the next tasks of its slot
TEST_P(Deadline, ATaskThatHasBegunRuns) {
  device_word sum{rt(), last()};
  for (int i = 0; i < 50; ++i) {
    EXPECT_NO_THROW(rt().submit(add(sum), {.deadline = clock::now() + 1h}).wait());
  }
  held_word word{rt()};
  auto const deadline = clock::now() + 200ms;
  ticket const running =
      rt().submit(word.launch_of(program()), {.device = last(), .deadline = deadline});
  if (!pumping(rt(), [&] { return word.started() || clock::now() > deadline; }) ||
      !word.started()) {
    GTEST_SKIP() << "the machine was too busy to begin the kernel within 200 ms";
  }
  std::this_thread::sleep_until(deadline + 1ms);  // the deadline must pass
  EXPECT_FALSE(running.ready());
  word.release();
  EXPECT_NO_THROW(running.wait());
  EXPECT_EQ(sum.read(), 50u);
}

// requirement: tasks in `after` of which one has timed out fail with the cause, also before the
// predecessor of that task has ended. Tasks that name it in `after_end` run
TEST_P(Deadline, SuccessorsSeeTheEnd) {
  device_word sum{rt(), last()};
  launch_gate gate{rt(), program(), last()};
  ticket const task =
      rt().submit(add(sum), {.label = "the first", .after = {gate.gate()}, .deadline = soon()});
  ticket const second = rt().submit(add(sum), {.after = {task}});
  ticket const third = rt().submit([](task_context&) {}, {.device = first(), .after = {second}});
  ticket const other = rt().submit(host_task([] {}), {.after_end = {task}});
  for (ticket const* each : {&second, &third}) {
    EXPECT_THAT(thrown<dependency_failed>([&] { each->wait(); }),
                AllOf(HasSubstr("the first"), EndsWith("did not begin before its deadline")));
  }
  try {
    second.wait();
  } catch (dependency_failed const& why) {
    EXPECT_THROW(std::rethrow_exception(why.cause()), timed_out);
  }
  EXPECT_NO_THROW(other.wait());
  EXPECT_FALSE(gate.gate().ready());
  gate.open();
  gate.gate().wait();
  EXPECT_EQ(sum.read(), 0u);
}

// requirement: every way to wait sees the end, while the predecessor still runs
TEST_P(Deadline, EveryWaitSeesTheEnd) {
  launch_gate gate{rt(), program(), last()};
  auto const submit = [&] {
    return rt().submit([](task_context&) {}, {.after = {gate.gate()}, .deadline = soon()});
  };
  EXPECT_THROW((void)submit().wait_for(test_timeout), timed_out);
  std::vector<ticket> several;
  several.push_back(rt().submit([](task_context&) {}, {.after = {gate.gate()}}));
  several.push_back(submit());
  EXPECT_EQ(wait_any(several), 1u);
  std::atomic<bool> is_right{false};
  ticket const observer =
      rt().submit(host_task([&](std::exception_ptr why) {
                    is_right = message_of(why).ends_with("did not begin before its deadline");
                  }),
                  {.after = {submit()}});
  observer.wait();
  EXPECT_TRUE(is_right);
  ticket const polled = submit();
  while (!polled.ready()) {
    ASSERT_TRUE(readable(event_fd(rt()), test_timeout));
    rt().pump();
  }
  EXPECT_FALSE(gate.gate().ready());
  gate.open();
}

// requirement: the error of a posted task goes to on_error
TEST_P(Deadline, PostedTasksReportIt) {
  auto const errors =
      std::make_shared<std::atomic<int>>(0);  // the handler may outlive this function
  auto changed = options();
  changed.on_error = [errors](std::exception_ptr why) {
    if (message_of(why).find("did not begin before its deadline") != std::string::npos) {
      ++*errors;
    }
  };
  start(changed);
  launch_gate gate{rt(), program(), last()};
  for (int i = 0; i < 5; ++i) {
    rt().post([](task_context&) { ADD_FAILURE() << "it ran"; },
              {.after = {gate.gate()}, .deadline = soon()});
  }
  EXPECT_TRUE(pumping(rt(), [&] { return *errors == 5; }));
  EXPECT_FALSE(gate.gate().ready());
  gate.open();
}

// requirement: the deadline of a bulk applies to each item. The ticket has the error of the first
// item that did not begin
TEST_P(Deadline, ABulkFailsWithItsFirstItem) {
  device_word sum{rt(), last()};
  launch_gate gate{rt(), program(), last()};
  constexpr std::size_t items = 200;
  ticket const task = rt().submit(bulk(items, [&](std::size_t) { return add(sum); }),
                                  {.after = {gate.gate()}, .deadline = soon()});
  try {
    task.wait();
    ADD_FAILURE() << "it did not fail";
  } catch (bulk_error const& why) {
    EXPECT_EQ(why.index(), 0u);
    EXPECT_THROW(std::rethrow_exception(why.cause()), timed_out);
  }
  EXPECT_FALSE(gate.gate().ready());
  gate.open();
  gate.gate().wait();
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 0u);
}

// requirement: a cancelled task ends during the call, and a task whose token requests a stop during
// that request, although their predecessor still runs
TEST_P(Deadline, CancelledTasksEndAtOnce) {
  launch_gate gate{rt(), program(), last()};
  auto const nothing = [](task_context&) { ADD_FAILURE() << "it ran"; };
  ticket const one = rt().submit(nothing, {.after = {gate.gate()}});
  std::stop_source source;
  ticket const other = rt().submit(nothing, {.after = {gate.gate()}, .stop = source.get_token()});
  for (int i = 0; i < 3; ++i) { rt().pump(); }
  EXPECT_TRUE(one.cancel());
  source.request_stop();
  EXPECT_TRUE(one.ready());
  EXPECT_TRUE(other.ready());
  EXPECT_THROW(one.wait(), task_cancelled);
  EXPECT_THROW(other.wait(), task_cancelled);
  EXPECT_FALSE(gate.gate().ready());
  gate.open();
}

}  // namespace
}  // namespace flotilla::test
