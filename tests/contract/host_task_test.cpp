// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Host tasks: functions that run without a context, in an order with other tasks.

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "contract/continuation.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class HostTask : public contract_test {};
FLOTILLA_CONTRACT(HostTask);

// requirement: a host task runs after its predecessors and before its successors, without a context
TEST_P(HostTask, RunsBetweenTasksOfDevices) {
  device_word value{rt(), last(), 4};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::atomic<int> ran{0};
  ticket const on_host = rt().submit(host_task([&] {
                                       EXPECT_EQ(current_context(), nullptr);
                                       EXPECT_TRUE(held.ready());
                                       ++ran;
                                     }),
                                     {.label = "on the host", .after = {held}});
  ticket const step = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                                  {.device = last(), .after = {on_host}});
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(step.ready());
  EXPECT_EQ(ran, 0);
  word.release();
  step.wait();
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(on_host.ready());
  EXPECT_EQ(value.read(), 9u);
}

// requirement: chains of host tasks and tasks of all devices keep their order
TEST_P(HostTask, LongChainsKeepTheirOrder) {
  std::vector<int> order;
  ticket last_task;
  for (int i = 0; i < 60; ++i) {
    dependency_list after;
    if (last_task.valid()) { after.add(last_task); }
    if (i % 3 == 0) {
      device_ordinal const device = ordinals()[static_cast<std::size_t>(i) % ordinals().size()];
      last_task = rt().submit([&order, i](task_context&) { order.push_back(i); },
                              {.device = device, .after = after});
    } else {
      last_task = rt().submit(host_task([&order, i] { order.push_back(i); }), {.after = after});
    }
  }
  last_task.wait();
  ASSERT_EQ(order.size(), 60u);
  for (int i = 0; i < 60; ++i) { EXPECT_EQ(order[static_cast<std::size_t>(i)], i); }
}

// requirement: the exception of the function is the error of the ticket, and successors fail
TEST_P(HostTask, ItsExceptionFailsItsSuccessors) {
  ticket const bad = rt().submit(host_task([] { throw std::runtime_error{"host trouble"}; }));
  ticket const next = rt().submit(host_task([] { ADD_FAILURE() << "it ran"; }), {.after = {bad}});
  ticket const device =
      rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last(), .after = {next}});
  EXPECT_EQ(thrown<std::runtime_error>([&] { bad.wait(); }), "host trouble");
  std::string const text = thrown<dependency_failed>([&] { next.wait(); });
  EXPECT_THAT(text, HasSubstr("a host task, on the host did not run"));
  EXPECT_THAT(text, EndsWith("host trouble"));
  EXPECT_THAT(thrown<dependency_failed>([&] { device.wait(); }), EndsWith("host trouble"));
}

// requirement: a cancelled host task never runs, and its function is destroyed
TEST_P(HostTask, CancelledFunctionNeverRuns) {
  auto const owned = std::make_shared<int>(0);
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const by_call = rt().submit(host_task([owned] { ++*owned; }), {.after = {held}});
  std::stop_source source;
  ticket const by_token =
      rt().submit(host_task([owned] { ++*owned; }), {.after = {held}, .stop = source.get_token()});
  EXPECT_TRUE(by_call.cancel());
  source.request_stop();
  word.release();
  EXPECT_THAT(thrown<task_cancelled>([&] { by_call.wait(); }), HasSubstr("a host task"));
  EXPECT_THROW(by_token.wait(), task_cancelled);
  EXPECT_TRUE(pumping(rt(), [&] { return owned.use_count() == 1; }));
  EXPECT_EQ(*owned, 0);
}

// requirement: a host task can submit tasks, also further host tasks
TEST_P(HostTask, FunctionsCanSubmitTasks) {
  std::atomic<int> ran{0};
  rt().submit(host_task([&] {
        rt().post([&](task_context&) { ++ran; });
        static_cast<void>(rt().submit(host_task([&] { ++ran; })));
      }))
      .wait();
  rt().wait_idle();
  EXPECT_EQ(ran, 2);
}

// requirement: a continuation can be attached to a host task
TEST_P(HostTask, ContinuationsWatchIt) {
  std::atomic<int> value{0};
  ticket const first = rt().submit(host_task([&] { value = 1; }));
  ticket const second = rt().submit(host_task([&] { value = value * 10 + 2; }), {.after = {first}});
  int seen = 0;
  second.then([&](std::exception_ptr) { seen = value; });
  rt().wait_idle();
  EXPECT_EQ(seen, 12);
}

// requirement: a function that takes an exception_ptr runs even if predecessors have failed. It
// gets the error of the first one in `after`. Its task succeeds, so its successors run
TEST_P(HostTask, FunctionMayTakeTheErrorOfPredecessors) {
  auto const fail = [](char const* text) {
    return [text](task_context&) { throw std::runtime_error{text}; };
  };
  ticket const good = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  ticket const bad = rt().submit(fail("the first reason"), {.device = last()});
  ticket const worse = rt().submit(fail("the second reason"), {.device = first()});
  std::vector<std::string> given(4);
  auto const note = [&](std::size_t at) {
    return host_task([&given, at](std::exception_ptr why) { given[at] = message_of(why); });
  };
  ticket const taken = rt().submit(note(0), {.after = {good, bad, worse}});
  ticket const none = rt().submit(note(1), {.after = {good}, .after_end = {bad}});
  ticket const behind = rt().submit(note(2), {.after = {taken}});
  rt().post(note(3), {.after = {worse, bad}});
  for (ticket const* each : {&taken, &none, &behind}) { each->wait(); }
  rt().wait_idle();
  EXPECT_EQ(given[0], "the first reason");
  EXPECT_EQ(given[1], "none") << "errors of after_end do not matter";
  EXPECT_EQ(given[2], "none") << "an error must not pass on after a task has taken it";
  EXPECT_EQ(given[3], "the second reason");
}

// requirement: the exception of such a function is the error of its task
TEST_P(HostTask, FunctionThatTakesAnErrorMayThrowIt) {
  ticket const bad = rt().submit([](task_context&) { throw my_error{}; });
  ticket const passing = rt().submit(host_task([](std::exception_ptr why) {
                                       if (why != nullptr) { std::rethrow_exception(why); }
                                     }),
                                     {.after = {bad}});
  ticket const behind = rt().submit(host_task([] {}), {.after = {passing}});
  EXPECT_THROW(passing.wait(), my_error);
  std::string const text = thrown<dependency_failed>([&] { behind.wait(); });
  EXPECT_THAT(text, HasSubstr("first cause: a callable, "))
      << "it names the task that failed first";
}

// boundary: errors that are passed on many times
TEST_P(HostTask, LongChainMayPassAnErrorOn) {
  ticket last = rt().submit([](task_context&) { throw my_error{}; });
  for (int i = 0; i < 3000; ++i) {
    last = rt().submit(host_task([](std::exception_ptr why) { std::rethrow_exception(why); }),
                       {.after = {last}});
  }
  EXPECT_THROW(last.wait(), my_error);
}

// requirement: a function that can be called without arguments is called so
static_assert(!detail::host_function<decltype([] {})>::has_error);
static_assert(!detail::host_function<decltype([](auto&&...) {})>::has_error);
static_assert(detail::host_function<decltype([](std::exception_ptr) {})>::has_error);
static_assert(detail::host_function<decltype([](auto) {})>::has_error);

// requirement: a host task that is cancelled or too late does not run, even if its function takes
// an exception_ptr
TEST_P(HostTask, CancelledFunctionTakesNoError) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::atomic<bool> has_run{false};
  auto const work = [&] { return host_task([&](std::exception_ptr) { has_run = true; }); };
  std::stop_source stop;
  ticket const cancelled = rt().submit(work(), {.after = {held}});
  ticket const stopped = rt().submit(work(), {.after = {held}, .stop = stop.get_token()});
  ticket const late =
      rt().submit(work(), {.after = {held}, .deadline = std::chrono::steady_clock::now()});
  EXPECT_TRUE(cancelled.cancel());
  stop.request_stop();
  word.release();
  EXPECT_THROW(cancelled.wait(), task_cancelled);
  EXPECT_THROW(stopped.wait(), task_cancelled);
  EXPECT_THROW(late.wait(), timed_out);
  EXPECT_FALSE(has_run);
}

// requirement: such a function gets the error of a bulk
TEST_P(HostTask, FunctionMayTakeTheErrorOfABulk) {
  std::vector<launch> const items(3, refused_launch(program()));
  ticket const all = rt().submit(bulk(items), {.device = last()});
  std::string given;
  rt().submit(host_task([&](std::exception_ptr why) { given = message_of(why); }), {.after = {all}})
      .wait();
  EXPECT_THAT(given, HasSubstr("CUDA_ERROR"));
}

// requirement: a callable that waits for a host task which runs after this callable is refused
TEST_P(HostTask, WaitThatCouldNeverEndIsRefused) {
  latch ready;
  ticket on_host;
  ticket const callable = rt().submit(
      [&](task_context&) {
        if (worker_count() != 0) { ready.wait(); }
        if (on_host.valid()) { on_host.wait(); }
      },
      {.device = first()});
  on_host = rt().submit(host_task([] {}), {.after = {callable}});
  ready.open();
  EXPECT_THROW(callable.wait(), would_deadlock);
  EXPECT_THROW(on_host.wait(), dependency_failed);
}

// requirement: in single-threaded mode, nothing can run a host task while a callable or another
// host task waits for it. With threads, the wait ends
TEST_P(HostTask, WaitInsideACallableEndsOrIsRefused) {
  auto const wait_for_another = [&] { rt().submit(host_task([] {})).wait(); };
  ticket const callable = rt().submit([&](task_context&) { wait_for_another(); });
  ticket const on_host = rt().submit(host_task(wait_for_another));
  if (worker_count() == 0) {
    EXPECT_THROW(callable.wait(), would_deadlock);
    EXPECT_THROW(on_host.wait(), would_deadlock);
  } else {
    callable.wait();
    on_host.wait();
  }
}

// requirement: try_submit submits a host task if there is room for it
TEST_P(HostTask, TrySubmitRunsItIfThereIsRoom) {
  int value = 0;
  auto const tried = rt().try_submit(host_task([&] { value = 3; }), {.label = "tried"});
  ASSERT_TRUE(tried);
  tried->wait();
  EXPECT_EQ(value, 3);
}

// regression: a refused host task lost its function, and submitting it again ended the process
TEST_P(HostTask, KeepsItsFunctionIfItIsRefused) {
  int value = 0;
  host_task mine{[&] { ++value; }};
  EXPECT_THROW(rt().submit(std::move(mine), {.after = {ticket{}}}), invalid_argument);
  rt().submit(std::move(mine)).wait();
  EXPECT_EQ(value, 1);
  EXPECT_THAT(thrown<invalid_argument>([&] { rt().post(std::move(mine)); }),
              HasSubstr("the host task is empty"));
  EXPECT_THAT(thrown<invalid_argument>([&] { flow{rt()}.post(uses(), std::move(mine)); }),
              HasSubstr("the host task is empty"));
}

// requirement: bad input is refused, and nothing is submitted
TEST_P(HostTask, MistakesAreNamed) {
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { static_cast<void>(rt().submit(host_task(std::function<void()>{}))); }),
              HasSubstr("host_task: the function is null"));
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { static_cast<void>(rt().submit(host_task([] {}), {.after = {ticket{}}})); }),
              HasSubstr("entry 0 of `after` names no task"));
  rt().close();
  EXPECT_THROW(static_cast<void>(rt().submit(host_task([] {}))), runtime_closed);
}

// stress: several threads submit host tasks that all touch one counter in order
TEST_P(HostTask, ManyTasksOfSeveralThreads) {
  constexpr int per_thread = 200;
  std::vector<std::jthread> threads;
  std::atomic<int> total{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      int local = 0;
      ticket previous;
      for (int i = 0; i < per_thread; ++i) {
        host_options options;
        if (previous.valid()) { options.after = {previous}; }
        previous = rt().submit(host_task([&local, &total, i] {
                                 EXPECT_EQ(local, i);
                                 ++local;
                                 ++total;
                               }),
                               options);
      }
      previous.wait();
    });
  }
  threads.clear();
  EXPECT_EQ(total, 3 * per_thread);
}

}  // namespace
}  // namespace flotilla::test
