// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `after` and `after_end` in the options of a task of the C interface.

#include <atomic>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CDependency : public c_api_test {
 protected:
  /// Submits *word = *word * factor + summand.
  flotilla_ticket step(flotilla_buffer word, std::uint32_t factor, std::uint32_t summand,
                       flotilla_task_options const* options) {
    flotilla_argument const arguments[] = {flotilla_address(word, 0), FLOTILLA_VALUE(factor),
                                           FLOTILLA_VALUE(summand)};
    flotilla_ticket made{};
    FLOTILLA_C_OK(flotilla_submit_launch(kernel("multiply_add"), flotilla_over(1, 1), arguments, 3,
                                         options, &made));
    return made;
  }
  flotilla_status submit_nothing(flotilla_task_options const& options,
                                 flotilla_ticket* ticket = nullptr) {
    return flotilla_submit_launch(kernel("nothing"), flotilla_over(1, 1), nullptr, 0, &options,
                                  ticket);
  }
};
FLOTILLA_C_API(CDependency);

// requirement: tasks run in the order of their dependencies, also between devices
TEST_P(CDependency, OrdersTasksOfTwoDevices) {
  flotilla_buffer const word = words(0, 1);
  flotilla_ticket last = step(word, 2, 1, nullptr);
  std::uint32_t expected = 3;
  for (std::uint32_t i = 0; i < 20; ++i) {
    flotilla_task_options options = after(last);
    options.device = static_cast<int>(i % 2);
    flotilla_ticket const next = step(word, 3, i, &options);
    FLOTILLA_C_OK(flotilla_ticket_release(last));
    last = next;
    expected = expected * 3 + i;
  }
  FLOTILLA_C_OK(end_of(last));
  EXPECT_EQ(read(word), expected);
}

// requirement: a ticket may be both the predecessor and the variable for the new ticket
TEST_P(CDependency, TicketMayBeReplacedByItsSuccessor) {
  flotilla_buffer const word = words(0, 1);
  flotilla_ticket last = step(word, 2, 1, nullptr);
  flotilla_ticket const first = last;
  flotilla_task_options const options = after(last);
  flotilla_task_options chained = options;
  chained.after = &last;
  FLOTILLA_C_OK(submit_nothing(chained, &last));
  EXPECT_NE(last.id, first.id);
  FLOTILLA_C_OK(end_of(last));
  EXPECT_EQ(read(word), 3u);
  FLOTILLA_C_OK(flotilla_ticket_release(first));
}

// requirement: a task may have many predecessors, and waits for all of them
TEST_P(CDependency, WaitsForManyPredecessors) {
  std::atomic<int> ran{0};
  std::vector<flotilla_ticket> before(20);
  for (flotilla_ticket& each : before) {
    flotilla_task_options const options = on_device(static_cast<int>(&each - before.data()) % 2);
    auto const count = [&](flotilla_task_context const&) {
      ++ran;
      return 0;
    };
    FLOTILLA_C_OK(submit_body(rt, count, &options, &each));
  }
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.after = before.data();
  options.after_count = 10;
  options.after_end = before.data() + 10;
  options.after_end_count = 10;
  flotilla_buffer const word = words(1);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(add(word, 1, &options, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(ran, 20);
  for (flotilla_ticket const each : before) { FLOTILLA_C_OK(flotilla_ticket_release(each)); }
}

// requirement: a task does not run if a predecessor failed. The error has the cause
TEST_P(CDependency, FailureOfAPredecessorIsReported) {
  flotilla_buffer const word = words(1);
  flotilla_ticket const failed = failing();
  flotilla_task_options options = after(failed);
  options.label = "the second";
  flotilla_ticket second{}, third{};
  FLOTILLA_C_OK(add(word, 1, &options, &second));
  options = after(second);
  FLOTILLA_C_OK(add(word, 1, &options, &third));
  FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "the second", flotilla_ticket_wait(second));
  EXPECT_EQ(last_details().cause, FLOTILLA_TASK_FAILED);
  EXPECT_EQ(last_details().first_cause, FLOTILLA_TASK_FAILED);
  EXPECT_EQ(last_details().code, 7) << "that of the first cause";
  FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "7", flotilla_ticket_wait(third));
  EXPECT_EQ(last_details().cause, FLOTILLA_DEPENDENCY_FAILED);
  for (flotilla_ticket const each : {failed, second, third}) {
    FLOTILLA_C_OK(flotilla_ticket_release(each));
  }
  EXPECT_EQ(read(word), 0u);
}

// requirement: the failure of a task in after_end does not matter
TEST_P(CDependency, AfterEndIgnoresFailures) {
  flotilla_buffer const word = words(1);
  flotilla_ticket const failed = failing();
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.after_end = &failed;
  options.after_end_count = 1;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(add(word, 5, &options, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(end_of(failed), FLOTILLA_TASK_FAILED);
  EXPECT_EQ(read(word), 5u);
}

// requirement: an ended task is a predecessor too, but a released ticket is not
TEST_P(CDependency, RefusesTicketsThatDoNotExist) {
  flotilla_ticket const ended = failing();
  EXPECT_EQ(end_of(ended), FLOTILLA_TASK_FAILED);
  flotilla_ticket ticket{5};
  flotilla_task_options options = after(ended);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "after[0]", submit_nothing(options, &ticket));
  EXPECT_EQ(ticket.id, 0u);
  options.after_end = options.after;
  options.after_end_count = 1;
  options.after_count = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "after_end[0]", submit_nothing(options, &ticket));
  flotilla_ticket const none{};
  options = after(none);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "after[0]", submit_nothing(options, &ticket));
}

// requirement: null arrays are refused if their count is not 0
TEST_P(CDependency, RefusesNullArrays) {
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.after_count = 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "after", submit_nothing(options));
  options.after_count = 0;
  options.after_end_count = 2;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "after_end", submit_nothing(options));
  flotilla_ticket unused{};
  options.after_end = &unused;
  options.after_end_count = 0;
  FLOTILLA_C_OK(submit_nothing(options));
}

// requirement: predecessors belong to the same runtime
TEST_P(CDependency, RefusesTicketsOfAnotherRuntime) {
  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_ticket foreign{};
  FLOTILLA_C_OK(submit_body(
      other, [](flotilla_task_context const&) { return 0; }, nullptr, &foreign));
  flotilla_task_options options = after(foreign);
  FLOTILLA_C_FAILS(FLOTILLA_WRONG_RUNTIME, "runtime", submit_nothing(options));
  FLOTILLA_C_OK(end_of(foreign));
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
}

}  // namespace
}  // namespace flotilla::test
