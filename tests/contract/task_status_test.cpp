// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that report through a task_status that their task has failed.

#include <climits>
#include <string>
#include <vector>

#include <flotilla/kernel/task_status.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class TaskStatus : public contract_test {
 protected:
  kernel<task_status, int> fail_with() {
    return program().loaded.kernel<task_status, int>("fail_with");
  }
  kernel<std::uint32_t const*, std::uint32_t, task_status, std::uint32_t*> fail_above() {
    return program()
        .loaded.kernel<std::uint32_t const*, std::uint32_t, task_status, std::uint32_t*>(
            "fail_above");
  }
  /// A task that fails with `code`.
  ticket failing(int code, device_ordinal device, std::string_view label = {}) {
    return rt().submit(fail_with().with_shape({1}, {1})(task_status{}, code),
                       {.device = device, .label = label});
  }
  static int code_of(ticket const& task) {
    try {
      task.wait();
    } catch (task_failed const& why) { return why.code(); }
    ADD_FAILURE() << "the task did not fail";
    return 0;
  }
};
FLOTILLA_CONTRACT(TaskStatus);

// requirement: the ticket throws task_failed with the code that the kernel reported; the message
// names the kernel, the label and the code
TEST_P(TaskStatus, TicketThrowsTheCodeOfTheKernel) {
  ticket const task = failing(17, last(), "step 3");
  std::string const text = thrown<task_failed>([&] { task.wait(); });
  EXPECT_THAT(text, HasSubstr("fail_with"));
  EXPECT_THAT(text, HasSubstr("step 3"));
  EXPECT_THAT(text, EndsWith("the kernel reported failure code 17"));
  EXPECT_EQ(code_of(task), 17);
}

// requirement: every code can be reported, also 0 and negative codes
TEST_P(TaskStatus, EveryCodeCanBeReported) {
  for (int const code : {0, 1, -1, INT_MIN, INT_MAX}) {
    EXPECT_EQ(code_of(failing(code, first())), code);
  }
}

// requirement: a kernel that reports no failure succeeds, and its successors run
TEST_P(TaskStatus, KernelThatReportsNothingSucceeds) {
  device_buffer<std::uint32_t> values{rt(), last(), 3};
  device_buffer<std::uint32_t> runs{rt(), last(), 1};
  ticket const filled = rt().submit(values.fill(5), {});
  ticket const cleared = rt().submit(runs.fill(0), {});
  ticket const task =
      rt().submit(fail_above().with_shape({3}, {32})(values, 5, task_status{}, runs),
                  {.after = {filled, cleared}});
  ticket const next = rt().submit(program().add.with_shape({1}, {1})(runs, 10), {.after = {task}});
  std::uint32_t seen = 0;
  rt().submit(runs.copy_to(std::span{&seen, 1}), {.after = {next}}).wait();
  task.wait();
  EXPECT_EQ(seen, 13u);
}

// requirement: a failed kernel runs to its end and its results remain; if several threads report
// failures, the code is one of theirs
TEST_P(TaskStatus, FailedKernelRunsToItsEnd) {
  constexpr std::uint32_t blocks = 40;
  device_buffer<std::uint32_t> values{rt(), last(), blocks};
  device_buffer<std::uint32_t> runs{rt(), last(), 1};
  std::vector<std::uint32_t> source(blocks, 1);
  source[7] = source[31] = 9;
  ticket const copied = rt().submit(values.copy_from(std::span<std::uint32_t const>{source}), {});
  ticket const cleared = rt().submit(runs.fill(0), {});
  ticket const task =
      rt().submit(fail_above().with_shape({blocks}, {32})(values, 8, task_status{}, runs),
                  {.after = {copied, cleared}});
  int const code = code_of(task);
  EXPECT_TRUE(code == 7 || code == 31) << code;
  std::uint32_t seen = 0;
  rt().submit(runs.copy_to(std::span{&seen, 1}), {}).wait();
  EXPECT_EQ(seen, blocks);
}

// requirement: successors of every kind, on every device, do not run and fail with the cause; other
// tasks are not affected
TEST_P(TaskStatus, SuccessorsFailAndOtherTasksDoNot) {
  device_buffer<std::uint32_t> on_first{rt(), first(), 1};
  device_buffer<std::uint32_t> on_last{rt(), last(), 1};
  ticket const ready = rt().submit(on_first.fill(1), {});
  ticket const ready_too = rt().submit(on_last.fill(1), {});
  ready.wait();
  ready_too.wait();
  ticket const task = failing(3, first(), "the cause");
  ticket const successors[] = {
      rt().submit(program().write.with_shape({1}, {1})(on_first, 2), {.after = {task}}),
      rt().submit(program().write.with_shape({1}, {1})(on_last, 2), {.after = {task}}),
      rt().submit(on_last.fill(2), {.after = {task}}),
      rt().submit([](task_context&) { ADD_FAILURE() << "the callable ran"; }, {.after = {task}})};
  ticket const other = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = first()});
  for (ticket const& each : successors) {
    EXPECT_THAT(thrown<dependency_failed>([&] { each.wait(); }), HasSubstr("failure code 3"));
  }
  other.wait();
  EXPECT_EQ(code_of(task), 3);
  std::uint32_t seen[2] = {};
  rt().submit(on_first.copy_to(std::span{&seen[0], 1}), {}).wait();
  rt().submit(on_last.copy_to(std::span{&seen[1], 1}), {}).wait();
  EXPECT_EQ(seen[0], 1u);
  EXPECT_EQ(seen[1], 1u);
}

// requirement: the cause of a successor's failure is the task_failed of the task
TEST_P(TaskStatus, CauseIsTaskFailed) {
  ticket const task = failing(5, first());
  ticket const next =
      rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last(), .after = {task}});
  try {
    next.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (dependency_failed const& why) {
    EXPECT_THAT(thrown<task_failed>([&] { std::rethrow_exception(why.cause()); }),
                EndsWith("code 5"));
  }
}

// requirement: each task reports its own failure, also if many tasks are open at the same time
TEST_P(TaskStatus, EachTaskReportsItsOwnFailure) {
  constexpr std::uint32_t count = 500;
  device_buffer<std::uint32_t> values{rt(), last(), 1};
  device_buffer<std::uint32_t> runs{rt(), last(), 1};
  rt().submit(values.fill(7), {}).wait();
  rt().submit(runs.fill(0), {}).wait();
  std::vector<ticket> tasks;
  for (std::uint32_t i = 0; i < count; ++i) {
    tasks.push_back(i % 3 == 0 ? failing(static_cast<int>(i), i % 2 == 0 ? first() : last())
                               : rt().submit(fail_above().with_shape({1}, {1})(
                                                 values, i % 3 == 1 ? 7 : 6, task_status{}, runs),
                                             {}));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    switch (i % 3) {
      case 0: EXPECT_EQ(code_of(tasks[i]), static_cast<int>(i)); break;
      case 1: EXPECT_NO_THROW(tasks[i].wait()) << i; break;
      default: EXPECT_EQ(code_of(tasks[i]), 0) << i; break;
    }
  }
}

// requirement: a successor starts without a thread that waits for it
TEST_P(TaskStatus, SuccessorNeedsNoWaitingThread) {
  device_buffer<std::uint32_t> values{rt(), last(), 1};
  device_buffer<std::uint32_t> runs{rt(), last(), 1};
  rt().submit(values.fill(0), {}).wait();
  rt().submit(runs.fill(0), {}).wait();
  ticket task = rt().submit(fail_above().with_shape({1}, {1})(values, 0, task_status{}, runs), {});
  for (int i = 0; i < 20; ++i) {
    task = rt().submit(fail_above().with_shape({1}, {1})(values, 0, task_status{}, runs),
                       {.after = {task}});
  }
  // Without workers, or if they get no thread, only `pump` runs tasks.
  bool const has_workers = worker_count() > 0 && GetParam().threads != tbb_threads::none;
  auto const is_ended = [&] { return task.ready(); };
  EXPECT_TRUE(has_workers ? eventually(is_ended) : pumping(rt(), is_ended));
}

// requirement: arguments of more than 128 bytes may have a task_status too
TEST_P(TaskStatus, LargeArgumentsHaveOneToo) {
  auto const large = program().loaded.kernel<words_512, task_status>("fail_large");
  words_512 words{};
  words.word[0] = 40;
  words.word[127] = 2;
  EXPECT_EQ(
      code_of(rt().submit(large.with_shape({1}, {1})(words, task_status{}), {.device = last()})),
      42);
}

// requirement: the same launch can be submitted several times, and is not changed
TEST_P(TaskStatus, LaunchCanBeSubmittedAgain) {
  launch const what = fail_with().with_shape({1}, {1})(task_status{}, 6);
  EXPECT_TRUE(what.has_task_status());
  ticket const one = rt().submit(what, {.device = first()});
  ticket const two = rt().submit(what, {.device = last()});
  EXPECT_EQ(code_of(one), 6);
  EXPECT_EQ(code_of(two), 6);
  EXPECT_FALSE(program().nothing.with_shape({1}, {1})().has_task_status());
}

// requirement: a recording refuses such a kernel and names it, and records nothing
TEST_P(TaskStatus, RecordingRefusesTheKernel) {
  recording made{rt()};
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { made.add(fail_with().with_shape({1}, {1})(task_status{}, 1)); }),
              AllOf(HasSubstr("fail_with"), HasSubstr("task_status")));
  EXPECT_EQ(made.size(), 0u);
}

// requirement: `set` of a recording refuses such a kernel too
TEST_P(TaskStatus, SetRefusesTheKernel) {
  recording made{rt()};
  recorded_task const task = made.add(program().nothing.with_shape({1}, {1})(), {.device = last()});
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { made.set(task, fail_with().with_shape({1}, {1})(task_status{}, 1)); }),
              HasSubstr("fail_with"));
  made.replay().wait();
}

}  // namespace
}  // namespace flotilla::test
