// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Posted tasks have no ticket. The runtime passes the errors of posted tasks to the function
// `runtime_options::on_error`, which is called the handler.

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "contract/continuation.hpp"
#include "contract/post_fixture.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Post : public reporting_test {
 protected:
  [[nodiscard]] launch nothing() { return program().nothing.with_shape({1}, {1})(); }
};
FLOTILLA_CONTRACT(Post);

// requirement: each posted launch, memory operation and callable runs once, on the device that its
// options name
TEST_P(Post, EveryKindOfTaskRunsOnce) {
  start_reporting();
  std::atomic<int> ran{0};
  std::vector<device_word> words;
  for (device_ordinal const device : ordinals()) { words.emplace_back(rt(), device, 0); }
  host_buffer<std::uint32_t> filled{rt(), 4};
  device_buffer<std::uint32_t> source{rt(), last(), std::vector<std::uint32_t>{7, 8, 9, 10}};
  for (int i = 0; i < 100; ++i) {
    for (device_ordinal const device : ordinals()) {
      rt().post(program().add.with_shape({1}, {1})(words[device.value].buffer(), 1u));
      rt().post(
          [&, device](task_context& where) {
            ran += where.device().ordinal == device ? 1 : 1'000'000;
          },
          {.device = device});
    }
  }
  rt().post(source.copy_to(filled), {.label = "a copy", .batch = false, .priority = -1});
  rt().wait_idle();
  EXPECT_EQ(ran, 100 * device_count());
  EXPECT_EQ(std::vector<std::uint32_t>(filled.begin(), filled.end()),
            (std::vector<std::uint32_t>{7, 8, 9, 10}));
  for (device_word const& each : words) { EXPECT_EQ(each.read(), 100u); }
  EXPECT_EQ(errors.size(), 0u);
}

// requirement
TEST_P(Post, PostedTaskRunsAfterItsDependencies) {
  device_word value{rt(), last(), 4};
  held_word hold{rt()};
  ticket const held = rt().submit(hold.launch_of(program()), {.device = first()});
  ticket const seen =
      rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last(), .after = {held}});
  host_buffer<std::uint32_t> copied{rt(), 1};
  copied[0] = 0;
  rt().post(value.buffer().copy_to(copied), {.after = {held, seen.id()}});
  rt().post(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u), {.after = {seen}});
  ASSERT_TRUE(pumping(rt(), [&] { return hold.started(); }));
  for (int i = 0; i < 20; ++i) { rt().pump(); }
  EXPECT_FALSE(seen.ready());
  EXPECT_EQ(copied[0], 0u);
  hold.release();
  rt().wait_idle();
  EXPECT_THAT(copied[0], AnyOf(4u, 9u)) << "the two posted tasks may run in any order";
  EXPECT_EQ(value.read(), 9u);
}

// requirement: `wait_idle` and the runtime's destructor wait for posted tasks
TEST_P(Post, WaitIdleAndDestructorWaitForPostedTasks) {
  start_reporting();
  launch const warm = nothing();
  for (int destroys = 0; destroys < 2; ++destroys) {
    held_word hold{rt()};
    std::atomic<bool> released{false};
    std::atomic<int> ran{0};
    rt().post(hold.launch_of(program()), {.device = last()});
    rt().post([&](task_context&) { ++ran; });
    std::jthread const releasing{[&] {
      EXPECT_TRUE(eventually([&] { return hold.started(); }));
      released = true;
      hold.release();
    }};
    rt().wait_idle();
    EXPECT_TRUE(released);
    EXPECT_EQ(ran, 1);
  }
  latch opened;
  std::atomic<bool> ended{false};
  rt().post([&](task_context&) {
    opened.open();
    std::this_thread::yield();
    ended = true;
  });
  rt().post(warm);
  stop();
  EXPECT_TRUE(opened.is_open());
  EXPECT_TRUE(ended);
  EXPECT_EQ(errors.size(), 0u);
}

// requirement: the handler receives each error of a posted task once. The error has the same type
// and message as the error of a ticket
TEST_P(Post, EveryErrorReachesTheHandlerOnce) {
  start_reporting();
  launch const refused = refused_launch(program());
  ticket const bad = rt().submit([](task_context&) { throw std::runtime_error{"the first cause"}; },
                                 {.device = first()});
  rt().post([](task_context&) { throw my_error{}; }, {.device = last()});
  rt().post(refused, {.device = last(), .label = "asks for too much"});
  rt().post(nothing(), {.device = last(), .after = {bad}});
  rt().post([](task_context&) {}, {.device = first(), .after = {bad}});
  for (int i = 0; i < 10; ++i) { rt().post(nothing()); }
  rt().wait_idle();
  EXPECT_TRUE(pumping(rt(), [&] { return errors.size() == 4; })) << errors.size();
  stop();
  EXPECT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors.count<my_error>(), 1u);
  EXPECT_EQ(errors.count<driver_error>(), 1u);
  EXPECT_EQ(errors.count<dependency_failed>(), 2u);
  for (std::exception_ptr const& each : errors.all()) {
    EXPECT_THAT(message_of(each), AnyOf("mine", HasSubstr("the first cause"),
                                        AllOf(HasSubstr("nothing"), HasSubstr("asks for too much"),
                                              HasSubstr("CUDA_ERROR_"))));
  }
}

// requirement: without workers, `pump` and `wait_idle` call the handler on the calling thread
TEST_P(Post, PumpAndWaitIdleReportErrors) {
  if (worker_count() != 0) { GTEST_SKIP() << "needs single-threaded mode"; }
  std::vector<std::thread::id> where;
  runtime_options changed = options();
  changed.on_error = [&](std::exception_ptr why) {
    EXPECT_EQ(message_of(why), "mine");
    EXPECT_EQ(current_context(), nullptr);
    where.push_back(std::this_thread::get_id());
  };
  start(std::move(changed));
  rt().post([](task_context&) { throw my_error{}; });
  EXPECT_EQ(where.size(), 0u);
  EXPECT_TRUE(eventually([&] { return !rt().pump(); }));
  EXPECT_EQ(where.size(), 1u);
  rt().post([](task_context&) { throw my_error{}; });
  rt().wait_idle();
  EXPECT_EQ(where, std::vector<std::thread::id>(2, std::this_thread::get_id()));
  stop();
  EXPECT_EQ(where.size(), 2u);
}

// requirement: workers report errors while no thread of the application waits or pumps
TEST_P(Post, WorkersReportErrorsWithoutAWaiter) {
  if (worker_count() == 0 || GetParam().threads != tbb_threads::all) {
    GTEST_SKIP() << "needs a worker";
  }
  start_reporting();
  for (std::size_t i = 1; i <= 5; ++i) {
    rt().post([](task_context&) { throw my_error{}; }, {.device = last()});
    EXPECT_TRUE(eventually([&] { return errors.size() == i; })) << errors.size();
  }
}

// requirement
TEST_P(Post, DestructorReportsErrors) {
  start_reporting();
  launch const refused = refused_launch(program());
  for (int i = 0; i < 50; ++i) {
    rt().post([](task_context&) { throw my_error{}; }, {.device = last()});
    rt().post(refused, {.device = first()});
  }
  stop();
  EXPECT_EQ(errors.count<my_error>(), 50u);
  EXPECT_EQ(errors.count<driver_error>(), 50u);
  EXPECT_EQ(errors.size(), 100u);
}

// requirement: without a handler, each error is printed
TEST_P(Post, ErrorsWithoutAHandlerArePrinted) {
  ::testing::internal::CaptureStderr();
  rt().post([](task_context&) { throw std::runtime_error{"printed once"}; }, {.device = last()});
  rt().post([](task_context&) { throw 5; }, {.device = first()});
  rt().wait_idle();
  stop();
  std::string const text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, AllOf(HasSubstr("a posted task failed"), HasSubstr("printed once")));
  EXPECT_EQ(text.find("printed once"), text.rfind("printed once")) << text;
  // Count the messages and not the lines, because oneTBB may print a warning.
  std::size_t printed = 0;
  for (auto at = text.find("a posted task failed"); at != std::string::npos;
       at = text.find("a posted task failed", at + 1)) {
    ++printed;
  }
  EXPECT_EQ(printed, 2u) << text;
}

// requirement: if the handler throws, the exception is printed, and all tasks still run
TEST_P(Post, HandlerThatThrowsEndsNothing) {
  ::testing::internal::CaptureStderr();
  std::atomic<int> called{0};
  runtime_options changed = options();
  changed.on_error = [&](std::exception_ptr) {
    ++called;
    throw std::logic_error{"thrown by the handler"};
  };
  start(std::move(changed));
  std::atomic<int> ran{0};
  for (int i = 0; i < 10; ++i) {
    rt().post([](task_context&) { throw my_error{}; }, {.device = last()});
    rt().post([&](task_context&) { ++ran; }, {.device = first()});
  }
  rt().submit(nothing()).wait();
  rt().wait_idle();
  EXPECT_TRUE(pumping(rt(), [&] { return called == 10; })) << called;
  stop();
  EXPECT_EQ(called, 10);
  EXPECT_EQ(ran, 10);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("thrown by the handler"));
}

// requirement: the handler may submit tasks, post tasks and wait for tickets
TEST_P(Post, HandlerMaySubmitAndPost) {
  std::atomic<int> called{0}, ran{0}, waited{0};
  runtime_options changed = options();
  changed.on_error = [&](std::exception_ptr) {
    if (++called > 3) { return; }
    rt().submit([&](task_context&) { ++ran; }).wait();
    ++waited;
    rt().post([](task_context&) { throw my_error{}; });
  };
  start(std::move(changed));
  rt().post([](task_context&) { throw my_error{}; }, {.device = last()});
  EXPECT_TRUE(pumping(rt(), [&] { return called == 4; })) << called;
  stop();
  EXPECT_EQ(called, 4);
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(waited, 3);
}

// requirement: errors of tasks with tickets never go to the handler, even if such a task gets the
// slot of a posted task that failed
TEST_P(Post, SlotOfAFailedPostedTaskIsUsedAgain) {
  constexpr std::size_t window = 64, rounds = 5;
  start_reporting(window);
  recording steps{rt()};
  steps.add(refused_launch(program()), {.device = last()});
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < 3 * window; ++i) {
      rt().post([](task_context&) { throw my_error{}; }, {.device = last()});
    }
    rt().wait_idle();
    std::vector<ticket> failing;
    for (std::size_t i = 0; i < window; ++i) {
      failing.push_back(rt().submit([](task_context&) { throw std::logic_error{"with a ticket"}; },
                                    {.device = last()}));
    }
    for (ticket const& each : failing) { EXPECT_THROW(each.wait(), std::logic_error); }
    failing.clear();
    for (std::size_t i = 0; i < 2 * window; ++i) {
      static_cast<void>(
          rt().submit([](task_context&) { throw std::logic_error{"with a dropped ticket"}; },
                      {.device = last()}));
    }
    EXPECT_THROW(steps.replay().wait(), driver_error);
  }
  { recording const ended = std::move(steps); }
  stop();
  EXPECT_EQ(errors.size(), 3 * window * rounds);
  EXPECT_EQ(errors.count<my_error>(), errors.size());
}

// requirement: if a kernel reports a failure, the handler receives it
TEST_P(Post, HandlerReceivesTheFailureThatAKernelReports) {
  start_reporting();
  auto const fail_with = program().loaded.kernel<task_status, int>("fail_with");
  rt().post(fail_with.with_shape({1}, {1})(task_status{}, 8),
            {.device = last(), .label = "posted"});
  rt().wait_idle();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(thrown<task_failed>([&] { std::rethrow_exception(errors.all()[0]); }),
              AllOf(HasSubstr("posted"), EndsWith("failure code 8")));
}

}  // namespace
}  // namespace flotilla::test
