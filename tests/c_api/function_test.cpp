// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Functions of the program as tasks of the C interface.

#include <atomic>
#include <stdexcept>
#include <string>

#include "c_api/c_fixture.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

/// What a function does, and how often it was called and destroyed.
struct c_calls {
  std::atomic<int> ran{0}, destroyed{0};
  int result = 0;
};
int call_and_count(void* user, flotilla_task_context const*) {
  auto& calls = *static_cast<c_calls*>(user);
  ++calls.ran;
  return calls.result;
}
int call_and_throw(void* user, flotilla_task_context const*) {
  ++static_cast<c_calls*>(user)->ran;
  throw std::runtime_error{"no such file"};
}
int call_and_throw_a_number(void* user, flotilla_task_context const*) {
  ++static_cast<c_calls*>(user)->ran;
  throw 5;
}
void count_destroy(void* user) { ++static_cast<c_calls*>(user)->destroyed; }

class CFunction : public c_api_test {
 protected:
  flotilla_status submit(flotilla_function function, c_calls& calls,
                         flotilla_task_options const* options, flotilla_ticket* ticket) {
    return flotilla_submit_function(rt, function, &calls, count_destroy, options, ticket);
  }
  /// Whether `destroy` is called exactly once.
  void expect_destroyed(c_calls const& calls) {
    EXPECT_TRUE(pumping_until([&] { return calls.destroyed != 0; }));
    FLOTILLA_C_OK(flotilla_wait_idle(rt));
    EXPECT_EQ(calls.destroyed, 1);
  }
};
FLOTILLA_C_API(CFunction);

// requirement: a function runs once, with the context of its device, and is destroyed once
TEST_P(CFunction, RunsOnceInTheContextOfItsDevice) {
  for (unsigned device = 0; device < 2; ++device) {
    flotilla_task_options const options = on_device(static_cast<int>(device));
    int ran = 0;
    auto const look = [&](flotilla_task_context const& context) {
      EXPECT_EQ(context.size, sizeof context);
      EXPECT_EQ(context.device, device);
      EXPECT_NE(context.context, nullptr);
      EXPECT_EQ(context.context, current_context());
      EXPECT_NE(context.stream, nullptr);
      ++ran;
      return 0;
    };
    FLOTILLA_C_OK(run_body(rt, look, &options));
    EXPECT_EQ(ran, 1);
  }
  c_calls calls;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit(call_and_count, calls, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  expect_destroyed(calls);
  EXPECT_EQ(calls.ran, 1);
}

// requirement: destroy may be null
TEST_P(CFunction, NeedsNoDestroy) {
  c_calls calls;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_submit_function(rt, call_and_count, &calls, nullptr, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(calls.ran, 1);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_function(rt, nullptr, nullptr, nullptr, nullptr, &ticket));
}

// requirement: a result that is not 0 is the code of the error. The text names the label
TEST_P(CFunction, ResultIsTheCodeOfTheError) {
  for (int const code : {7, -1}) {
    c_calls calls;
    calls.result = code;
    flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
    options.label = "step 9";
    flotilla_ticket ticket{};
    FLOTILLA_C_OK(submit(call_and_count, calls, &options, &ticket));
    for (int i = 0; i < 2; ++i) {
      FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, std::to_string(code).c_str(),
                       flotilla_ticket_wait(ticket));
      EXPECT_EQ(last_details().code, code);
      EXPECT_EQ(last_details().driver_status, 0);
    }
    EXPECT_THAT(flotilla_last_error(), HasSubstr("step 9"));
    FLOTILLA_C_OK(flotilla_ticket_release(ticket));
    expect_destroyed(calls);
  }
}

// requirement: a C++ exception makes the task fail
TEST_P(CFunction, ExceptionMakesTheTaskFail) {
  c_calls calls, numbers;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit(call_and_throw, calls, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_OTHER_ERROR, "no such file", flotilla_ticket_wait(ticket));
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
  expect_destroyed(calls);
  FLOTILLA_C_OK(submit(call_and_throw_a_number, numbers, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_OTHER_ERROR, "", flotilla_ticket_wait(ticket));
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
  expect_destroyed(numbers);
}

// requirement: destroy is called once if the function never runs
TEST_P(CFunction, IsDestroyedIfItNeverRuns) {
  c_calls cancelled, dependent, refused, null, closed;
  {
    c_gate gate{rt};
    flotilla_task_options const options = after(gate.ticket());
    flotilla_ticket ticket{};
    int answer = 0;
    FLOTILLA_C_OK(submit(call_and_count, cancelled, &options, &ticket));
    FLOTILLA_C_OK(flotilla_ticket_cancel(ticket, &answer));
    EXPECT_EQ(answer, 1);
    gate.open();
    FLOTILLA_C_FAILS(FLOTILLA_TASK_CANCELLED, "cancelled", flotilla_ticket_wait(ticket));
    FLOTILLA_C_OK(flotilla_ticket_release(ticket));
  }
  expect_destroyed(cancelled);

  flotilla_ticket const failed = failing();
  EXPECT_EQ(flotilla_ticket_wait(failed), FLOTILLA_TASK_FAILED);
  flotilla_task_options const behind = after(failed);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit(call_and_count, dependent, &behind, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "7", end_of(ticket));
  FLOTILLA_C_OK(flotilla_ticket_release(failed));
  expect_destroyed(dependent);

  flotilla_task_options const elsewhere = on_device(9);
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "9",
                   submit(call_and_count, refused, &elsewhere, nullptr));
  EXPECT_EQ(refused.destroyed, 1);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", submit(nullptr, null, nullptr, &ticket));
  EXPECT_EQ(null.destroyed, 1);
  FLOTILLA_C_FAILS(
      FLOTILLA_INVALID_HANDLE, "",
      flotilla_submit_function({}, call_and_count, &null, count_destroy, nullptr, &ticket));
  EXPECT_EQ(null.destroyed, 2) << "once for each call";
  FLOTILLA_C_OK(flotilla_runtime_close(rt));
  FLOTILLA_C_FAILS(FLOTILLA_RUNTIME_CLOSED, "", submit(call_and_count, closed, nullptr, &ticket));
  EXPECT_EQ(closed.destroyed, 1);
  EXPECT_EQ(cancelled.ran + dependent.ran + refused.ran + null.ran + closed.ran, 0);
}

// requirement: a wait inside a function for a task of the same device is refused
TEST_P(CFunction, WaitThatCannotEndIsRefused) {
  flotilla_ticket inner{};
  flotilla_task_options const there = on_device(1);
  auto const wait = [&](flotilla_task_context const&) {
    auto const nothing = [](flotilla_task_context const&) { return 0; };
    FLOTILLA_C_OK(submit_body(rt, nothing, &there, &inner));
    FLOTILLA_C_FAILS(FLOTILLA_WOULD_DEADLOCK, "", flotilla_ticket_wait(inner));
    return 0;
  };
  FLOTILLA_C_OK(run_body(rt, wait, &there));
  FLOTILLA_C_OK(end_of(inner)) << "the refused wait did not lose the task";
}

// requirement: a full window is an error inside a function
TEST_P(CFunction, FullWindowIsAnError) {
  flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
  std::string const spec = device_spec(1);
  options.devices = spec.c_str();
  options.workers = GetParam();
  options.window = 64;
  flotilla_runtime small{};
  FLOTILLA_C_OK(flotilla_runtime_create(&options, &small));
  flotilla_task_options const here = on_device(0);
  flotilla_status last = FLOTILLA_SUCCESS;
  std::atomic<int> accepted{0}, ran{0};
  auto const fill_window = [&](flotilla_task_context const&) {
    auto const count = [&](flotilla_task_context const&) {
      ++ran;
      return 0;
    };
    while (accepted < 200) {
      last = submit_body(small, count, &here, nullptr);
      if (last != FLOTILLA_SUCCESS) { break; }
      ++accepted;
    }
    return 0;
  };
  FLOTILLA_C_OK(run_body(small, fill_window, &here));
  EXPECT_EQ(last, FLOTILLA_WINDOW_FULL);
  FLOTILLA_C_OK(flotilla_runtime_destroy(small));
  EXPECT_EQ(ran, accepted);
}

}  // namespace
}  // namespace flotilla::test
