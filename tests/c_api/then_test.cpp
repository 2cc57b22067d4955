// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flotilla_ticket_then: functions that run after the end of a task.

#include <atomic>
#include <string>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

/// What the function got.
struct c_end {
  std::atomic<int> calls{0};
  flotilla_status status = FLOTILLA_OTHER_ERROR;
  std::string text = "not called";
};
void note_end(void* user, flotilla_status status, char const* text) {
  auto& seen = *static_cast<c_end*>(user);
  seen.status = status;
  seen.text = text;
  ++seen.calls;
}

class CThen : public c_api_test {
 protected:
  void expect_called_once(c_end const& seen) {
    EXPECT_TRUE(pumping_until([&] { return seen.calls != 0; }));
    FLOTILLA_C_OK(flotilla_wait_idle(rt));
    EXPECT_EQ(seen.calls, 1);
  }
};
FLOTILLA_C_API(CThen);

// requirement: the function gets the status and the text, also if the ticket was released before
TEST_P(CThen, GetsStatusAndText) {
  c_end good, failed;
  flotilla_ticket tickets[2]{};
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  {
    c_gate gate{rt};
    options = after(gate.ticket());
    FLOTILLA_C_OK(submit_body(
        rt, [](flotilla_task_context const&) { return 0; }, &options, &tickets[0]));
    FLOTILLA_C_OK(submit_body(
        rt, [](flotilla_task_context const&) { return 7; }, &options, &tickets[1]));
    FLOTILLA_C_OK(flotilla_ticket_then(tickets[0], note_end, &good));
    FLOTILLA_C_OK(flotilla_ticket_then(tickets[1], note_end, &failed));
    for (flotilla_ticket const each : tickets) { FLOTILLA_C_OK(flotilla_ticket_release(each)); }
    EXPECT_EQ(good.calls + failed.calls, 0) << "the tasks have not ended";
  }
  expect_called_once(good);
  EXPECT_EQ(good.status, FLOTILLA_SUCCESS);
  EXPECT_EQ(good.text, "");
  expect_called_once(failed);
  EXPECT_EQ(failed.status, FLOTILLA_TASK_FAILED);
  EXPECT_THAT(failed.text, HasSubstr("7"));
}

// requirement: several functions, and functions for an ended task
TEST_P(CThen, WorksForEndedTasks) {
  c_end first, second;
  flotilla_ticket const failed = failing();
  EXPECT_EQ(flotilla_ticket_wait(failed), FLOTILLA_TASK_FAILED);
  FLOTILLA_C_OK(flotilla_ticket_then(failed, note_end, &first));
  FLOTILLA_C_OK(flotilla_ticket_then(failed, note_end, &second));
  expect_called_once(first);
  expect_called_once(second);
  EXPECT_EQ(second.status, FLOTILLA_TASK_FAILED);
  FLOTILLA_C_OK(flotilla_ticket_release(failed));
}

// requirement: the function may submit tasks
TEST_P(CThen, MaySubmitTasks) {
  struct state {
    flotilla_runtime rt;
    std::atomic<int> ran{0};
    std::atomic<int> submitted{FLOTILLA_OTHER_ERROR};
  } shared{.rt = rt};
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit_body(
      rt, [](flotilla_task_context const&) { return 0; }, nullptr, &ticket));
  FLOTILLA_C_OK(flotilla_ticket_then(
      ticket,
      [](void* user, flotilla_status, char const*) {
        auto& mine = *static_cast<state*>(user);
        auto const count = [](void* to, flotilla_task_context const*) {
          ++static_cast<state*>(to)->ran;
          return 0;
        };
        mine.submitted = flotilla_submit_function(mine.rt, count, user, nullptr, nullptr, nullptr);
      },
      &shared));
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  EXPECT_EQ(shared.submitted, FLOTILLA_SUCCESS);
  EXPECT_EQ(shared.ran, 1);
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
}

// requirement: the text is the one that a wait for the task gives
TEST_P(CThen, TextIsThatOfTheTask) {
  c_end seen;
  flotilla_ticket cancelled{};
  {
    c_gate gate{rt};
    flotilla_task_options options = after(gate.ticket());
    options.label = "step 5";
    FLOTILLA_C_OK(submit_body(
        rt, [](flotilla_task_context const&) { return 0; }, &options, &cancelled));
    FLOTILLA_C_OK(flotilla_ticket_then(cancelled, note_end, &seen));
    FLOTILLA_C_OK(flotilla_ticket_cancel(cancelled, nullptr));
    gate.open();
  }
  expect_called_once(seen);
  EXPECT_EQ(seen.status, FLOTILLA_TASK_CANCELLED);
  EXPECT_EQ(flotilla_ticket_wait(cancelled), FLOTILLA_TASK_CANCELLED);
  EXPECT_EQ(seen.text, flotilla_last_error());
  FLOTILLA_C_OK(flotilla_ticket_release(cancelled));
}

}  // namespace
}  // namespace flotilla::test
