// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `task_options::stop`: a std::stop_token that cancels tasks.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "contract/continuation.hpp"
#include "support/launch_gate.hpp"

namespace flotilla::test {
namespace {

class StopToken : public contract_test {
 protected:
  launch add(device_word& to, std::uint32_t amount = 1) {
    return program().add.with_shape({1}, {1})(to.buffer(), amount);
  }
};
FLOTILLA_CONTRACT(StopToken);

// requirement: one request cancels all tasks with the token that are not launched, and no other
TEST_P(StopToken, RequestCancelsTheTasksWithTheToken) {
  device_word sum{rt(), last()};
  std::stop_source source;
  std::vector<ticket> tasks;
  launch_gate gate{rt(), program(), last()};
  ticket const other =
      rt().submit(add(sum, 100), {.after = {gate.gate()}, .stop = std::stop_source{}.get_token()});
  for (int i = 0; i < 40; ++i) {
    tasks.push_back(rt().submit(
        add(sum), {.label = "one of many", .after = {gate.gate()}, .stop = source.get_token()}));
  }
  tasks.push_back(rt().submit([](task_context&) { ADD_FAILURE() << "it ran"; },
                              {.after = {gate.gate()}, .stop = source.get_token()}));
  source.request_stop();
  gate.open();
  for (ticket const& each : tasks) {
    EXPECT_THROW(each.wait(), task_cancelled);
    EXPECT_TRUE(each.cancel());
  }
  EXPECT_THAT(thrown<task_cancelled>([&] { tasks[0].wait(); }), HasSubstr("one of many"));
  other.wait();
  EXPECT_EQ(sum.read(), 100u);
}

// requirement: a task whose token has already requested a stop never runs
TEST_P(StopToken, StopBeforeTheSubmitCancels) {
  device_word sum{rt(), first()};
  std::stop_source source;
  source.request_stop();
  for (device_ordinal const device : ordinals()) {
    EXPECT_THROW(rt().submit([](task_context&) { ADD_FAILURE() << "it ran"; },
                             {.device = device, .stop = source.get_token()})
                     .wait(),
                 task_cancelled);
  }
  EXPECT_THROW(rt().submit(add(sum), {.stop = source.get_token()}).wait(), task_cancelled);
  EXPECT_THROW(rt().submit(sum.buffer().fill(9), {.stop = source.get_token()}).wait(),
               task_cancelled);
  EXPECT_EQ(sum.read(), 0u);
}

// requirement: without a request, a task with a token runs. A request after its launch or its end
// has no effect, neither on it nor on later tasks in the same slot
TEST_P(StopToken, RequestAfterTheLaunchHasNoEffect) {
  device_word sum{rt(), last()};
  for (int i = 0; i < 50; ++i) {
    std::stop_source source;
    ticket const task = rt().submit(add(sum), {.stop = source.get_token()});
    task.wait();
    ticket const later = rt().submit(add(sum));
    source.request_stop();
    EXPECT_NO_THROW(task.wait());
    EXPECT_NO_THROW(later.wait());
  }
  EXPECT_EQ(sum.read(), 100u);
  std::stop_source source;
  held_word word{rt()};
  ticket const running =
      rt().submit(word.launch_of(program()), {.device = last(), .stop = source.get_token()});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  source.request_stop();
  word.release();
  EXPECT_NO_THROW(running.wait());
}

// requirement: the error of a cancelled posted task goes to on_error
TEST_P(StopToken, PostedTasksReportTheCancellation) {
  struct reports {
    std::mutex lock;
    std::vector<std::string> errors;
  };
  auto const seen = std::make_shared<reports>();  // the handler may outlive this function
  auto changed = options();
  changed.on_error = [seen](std::exception_ptr why) {
    std::lock_guard const guard{seen->lock};
    seen->errors.push_back(message_of(why));
  };
  start(changed);
  std::stop_source source;
  launch_gate gate{rt(), program(), last()};
  for (int i = 0; i < 5; ++i) {
    rt().post([](task_context&) { ADD_FAILURE() << "it ran"; },
              {.label = "posted", .after = {gate.gate()}, .stop = source.get_token()});
  }
  source.request_stop();
  gate.open();
  EXPECT_TRUE(pumping(rt(), [&] {
    std::lock_guard const guard{seen->lock};
    return seen->errors.size() == 5;
  }));
  std::lock_guard const guard{seen->lock};
  ASSERT_EQ(seen->errors.size(), 5u);
  EXPECT_THAT(seen->errors[0], AllOf(HasSubstr("posted"), HasSubstr("was cancelled")));
}

// requirement: a refused submit leaves nothing at the token
TEST_P(StopToken, RefusedSubmitIsNotWatched) {
  std::stop_source source;
  EXPECT_THROW((void)rt().submit(callable{}, {.stop = source.get_token()}), invalid_argument);
  source.request_stop();
  EXPECT_NO_THROW(rt().submit([](task_context&) {}).wait());
}

// requirement: stops may be requested while other threads launch and end the tasks. Every task runs
// once or is cancelled
TEST_P(StopToken, RequestsDuringLaunches) {
  device_word sum{rt(), last()};
  std::uint32_t ran = 0;
  for (int round = 0; round < 30; ++round) {
    std::stop_source source;
    std::vector<ticket> tasks;
    {
      std::atomic<int> submitted{0};
      std::jthread const stopping{[&] {
        while (submitted < round * 4) { std::this_thread::yield(); }
        source.request_stop();
      }};
      for (int i = 0; i < 120; ++i) {
        tasks.push_back(rt().submit(add(sum), {.device = last(), .stop = source.get_token()}));
        submitted = i + 1;
        if (i % 16 == 0) { rt().pump(); }
      }
    }
    for (ticket const& each : tasks) {
      try {
        each.wait();
        ++ran;
      } catch (task_cancelled const&) {}  // it was not launched before the stop
    }
    EXPECT_THROW(rt().submit(add(sum), {.stop = source.get_token()}).wait(), task_cancelled);
  }
  EXPECT_EQ(sum.read(), ran);
}

}  // namespace
}  // namespace flotilla::test
