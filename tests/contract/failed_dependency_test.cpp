// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks whose predecessors failed.

#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "support/contract_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class FailedDependency : public contract_test {
 protected:
  /// Submits a callable to the first device. The callable throws a runtime_error with the message
  /// `cause`.
  ticket failing(std::string cause, dependency_list after = {}) {
    return rt().submit(
        [cause](task_context&) { throw std::runtime_error{cause}; },
        {.device = first(), .label = "the one that fails", .after = std::move(after)});
  }
};
FLOTILLA_CONTRACT(FailedDependency);

// requirement: if a task fails, its whole chain of successors fails, even across devices. Each
// error message ends with the message of the first error
TEST_P(FailedDependency, FailedTaskFailsItsSuccessorsWithTheFirstCause) {
  ticket const cause = failing("first cause 17");
  ticket const second =
      rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last(), .after = {cause}});
  ticket const third = rt().submit([](task_context&) {}, {.device = first(), .after = {second}});
  ticket const fourth = rt().submit([](task_context&) {}, {.after = {third}});
  for (ticket const* each : {&second, &third, &fourth}) {
    EXPECT_THAT(thrown<dependency_failed>([&] { each->wait(); }), EndsWith("first cause 17"));
  }
  EXPECT_THAT(thrown<std::runtime_error>([&] { cause.wait(); }), HasSubstr("first cause 17"));
}

// requirement: `first_cause` is the error of the task that failed first, behind any number of
// tasks, and also behind a bulk whose items did not run
TEST_P(FailedDependency, FirstCauseIsTheErrorOfTheFirstTask) {
  std::vector<ticket> chain;
  chain.push_back(failing("first cause 19"));
  for (int i = 0; i < 100; ++i) {
    chain.push_back(rt().submit([](task_context&) {}, {.after = {chain.back()}}));
  }
  ticket const items = rt().submit(
      bulk(program().nothing.with_shape({1}, {1}), 3, [](std::size_t) { return std::tuple<>{}; }),
      {.after = {chain.back()}});
  chain.push_back(rt().submit([](task_context&) {}, {.after = {items}}));
  for (ticket const& each : std::span{chain}.subspan(1)) {
    try {
      each.wait();
      ADD_FAILURE() << "nothing was thrown";
    } catch (dependency_failed const& why) {
      EXPECT_EQ(thrown<std::runtime_error>([&] { std::rethrow_exception(why.first_cause()); }),
                "first cause 19");
    }
  }
}

// requirement: `dependency_failed::cause` returns the predecessor's error, so code can follow a
// chain of causes to the first error
TEST_P(FailedDependency, CauseIsTheErrorOfThePredecessor) {
  ticket const cause = failing("first cause 18");
  ticket const second = rt().submit([](task_context&) {}, {.device = last(), .after = {cause}});
  ticket const third = rt().submit([](task_context&) {}, {.device = first(), .after = {second}});
  try {
    third.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (dependency_failed const& of_third) {
    try {
      std::rethrow_exception(of_third.cause());
    } catch (dependency_failed const& of_second) {
      EXPECT_EQ(thrown<std::runtime_error>([&] { std::rethrow_exception(of_second.cause()); }),
                "first cause 18");
    }
  }
}

// requirement: a long chain of failures needs bounded memory. regression for a stack overflow when
// the chain was freed
TEST_P(FailedDependency, LongChainsOfFailuresAreShort) {
  ticket previous = failing("first of many");
  constexpr int tasks = sanitized ? 1'000 : 50'000;
  for (int i = 0; i < tasks; ++i) {
    previous = rt().submit([](task_context&) {}, {.device = first(), .after = {previous}});
  }
  EXPECT_THAT(thrown<dependency_failed>([&] { previous.wait(); }), EndsWith("first of many"));
}

// requirement: a successor fails even if its predecessor failed before the successor was submitted
TEST_P(FailedDependency, TaskThatFailedLongAgoStillFailsItsSuccessor) {
  ticket const cause = failing("ended long ago");
  rt().wait_idle();
  ASSERT_TRUE(cause.ready());
  for (device_ordinal const device : ordinals()) {
    ticket const then =
        rt().submit(program().nothing.with_shape({1}, {1})(), {.device = device, .after = {cause}});
    EXPECT_THAT(thrown<dependency_failed>([&] { then.wait(); }), EndsWith("ended long ago"));
  }
}

// requirement: a successor of a failed task never runs, and its callable is destroyed
TEST_P(FailedDependency, SuccessorOfAFailedTaskNeverRuns) {
  auto const owned = std::make_shared<int>(0);
  ticket const cause = failing("no");
  ticket const then =
      rt().submit([owned](task_context&) { ++*owned; }, {.device = last(), .after = {cause}});
  EXPECT_THROW(then.wait(), dependency_failed);
  EXPECT_TRUE(pumping(rt(), [&] { return owned.use_count() == 1; }));
  EXPECT_EQ(*owned, 0);
}

// requirement: a task fails if one of its predecessors failed, even if all others succeeded
TEST_P(FailedDependency, OneFailedPredecessorOfSeveralFailsTheTask) {
  ticket const good = rt().submit([](task_context&) {}, {.device = last()});
  ticket const bad = failing("one of three");
  ticket const also_good =
      rt().submit(program().nothing.with_shape({1}, {1})(), {.device = first()});
  ticket const then = rt().submit([](task_context&) {}, {.after = {good, bad, also_good}});
  EXPECT_THAT(thrown<dependency_failed>([&] { then.wait(); }), EndsWith("one of three"));
  good.wait();
  also_good.wait();
}

// requirement: the error of a successor names the callable or host task that has thrown
TEST_P(FailedDependency, ErrorNamesTheTaskThatHasThrown) {
  auto const fail = [] { throw std::runtime_error{"disk full"}; };
  ticket const called = rt().submit([&](task_context&) { fail(); }, {.label = "save"});
  ticket const hosted = rt().submit(host_task(fail), {.label = "read"});
  auto const behind = [&](ticket const& cause) {
    ticket const then = rt().submit(program().nothing.with_shape({1}, {1})(), {.after = {cause}});
    return thrown<dependency_failed>([&] { then.wait(); });
  };
  EXPECT_THAT(behind(called), AllOf(HasSubstr("first cause: a callable, label 'save', device "),
                                    EndsWith(" threw: disk full")));
  EXPECT_THAT(behind(hosted),
              EndsWith("first cause: a host task, label 'read', on the host threw: disk full"));
  EXPECT_EQ(thrown<std::runtime_error>([&] { called.wait(); }), "disk full")
      << "its own ticket has the exception itself";
}

// requirement: if the driver refuses a launch, the successors of the launch fail. Their errors name
// the label of the launch and the driver's status
TEST_P(FailedDependency, RefusedLaunchFailsItsSuccessors) {
  ticket const bad =
      rt().submit(refused_launch(program()), {.device = first(), .label = "too much"});
  ticket const then = rt().submit([](task_context&) {}, {.device = last(), .after = {bad}});
  EXPECT_THAT(thrown<dependency_failed>([&] { then.wait(); }),
              AllOf(HasSubstr("too much"), HasSubstr("CUDA_ERROR")));
}

// error guess: a successor fails even if the ticket of its failing predecessor has been destroyed
TEST_P(FailedDependency, FailureIsRememberedAfterItsTicketIsDropped) {
  ticket then;
  {
    ticket const cause = failing("dropped");
    then = rt().submit([](task_context&) {}, {.device = last(), .after = {cause}});
  }
  EXPECT_THAT(thrown<dependency_failed>([&] { then.wait(); }), EndsWith("dropped"));
}

// requirement: tasks that do not depend on a failed task run
TEST_P(FailedDependency, FailureLeavesUnrelatedTasksAlone) {
  device_word value{rt(), first(), 1};
  ticket const bad = failing("alone");
  ticket const good = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 3u));
  EXPECT_EQ(value.read({good}), 5u);
  EXPECT_THROW(bad.wait(), std::runtime_error);
}

}  // namespace
}  // namespace flotilla::test
