// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tickets of the C interface: waits, cancellation and devices.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

constexpr std::uint64_t c_millisecond = 1'000'000;
constexpr std::uint64_t c_minute = 60'000 * c_millisecond;

class CTicket : public c_api_test {
 protected:
  [[nodiscard]] flotilla_ticket succeeding(int device = FLOTILLA_ANY_DEVICE) {
    flotilla_task_options const options = on_device(device);
    flotilla_ticket made{};
    auto const nothing = [](flotilla_task_context const&) { return 0; };
    FLOTILLA_C_OK(submit_body(rt, nothing, &options, &made));
    return made;
  }
  static void release(std::initializer_list<flotilla_ticket> tickets) {
    for (flotilla_ticket const each : tickets) { FLOTILLA_C_OK(flotilla_ticket_release(each)); }
  }
};
FLOTILLA_C_API(CTicket);

// requirement: ready says whether the task has ended, also if it failed
TEST_P(CTicket, ReadySaysWhetherTheTaskHasEnded) {
  flotilla_ticket const failed = failing();
  EXPECT_EQ(flotilla_ticket_wait(failed), FLOTILLA_TASK_FAILED);
  int ready = 5;
  FLOTILLA_C_OK(flotilla_ticket_ready(failed, &ready));
  EXPECT_EQ(ready, 1);
  c_held held{rt, kernel("hold_until"), 1};
  FLOTILLA_C_OK(flotilla_ticket_ready(held.ticket(), &ready));
  EXPECT_EQ(ready, 0);
  held.release();
  EXPECT_TRUE(eventually([&] {
    FLOTILLA_C_OK(flotilla_ticket_ready(held.ticket(), &ready));
    return ready == 1;
  }));
  release({failed});
}

// requirement: a wait with a limit times out, or reports the end and the error
TEST_P(CTicket, WaitForHasALimit) {
  int ended = 5;
  flotilla_ticket const failed = failing(), good = succeeding();
  FLOTILLA_C_OK(flotilla_ticket_wait_for(good, c_minute, &ended));
  EXPECT_EQ(ended, 1);
  ended = 5;
  FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "7", flotilla_ticket_wait_for(failed, c_minute, &ended));
  EXPECT_EQ(ended, 1) << "the task has ended, with an error";
  c_held held{rt, kernel("hold_until"), 1};
  for (std::uint64_t const limit : {std::uint64_t{0}, 2 * c_millisecond}) {
    ended = 5;
    FLOTILLA_C_OK(flotilla_ticket_wait_for(held.ticket(), limit, &ended));
    EXPECT_EQ(ended, 0);
  }
  held.release();
  FLOTILLA_C_OK(flotilla_ticket_wait_for(held.ticket(), UINT64_MAX, &ended));
  EXPECT_EQ(ended, 1) << "boundary: a limit that no clock can add to its time";
  release({failed, good});
}

// requirement: wait_all waits for all tasks, and returns the error of the first failed one
TEST_P(CTicket, WaitAllReportsTheFirstFailure) {
  flotilla_ticket refused{};
  flotilla_shape shape = flotilla_over(1, 1);
  shape.dynamic_shared_bytes = 64u << 20;
  FLOTILLA_C_OK(flotilla_submit_launch(kernel("nothing"), shape, nullptr, 0, nullptr, &refused));
  flotilla_ticket const good = succeeding(), failed = failing(), last = succeeding(1);
  flotilla_ticket const all[] = {good, failed, refused, last};
  FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "7", flotilla_wait_all(all, 4));
  for (flotilla_ticket const each : all) {
    int ready = 0;
    FLOTILLA_C_OK(flotilla_ticket_ready(each, &ready));
    EXPECT_EQ(ready, 1);
  }
  FLOTILLA_C_OK(flotilla_wait_all(all, 1));
  FLOTILLA_C_OK(flotilla_wait_all(nullptr, 0));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "tickets", flotilla_wait_all(nullptr, 1));
  release({good, failed, refused, last});
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "0", flotilla_wait_all(all, 4));
}

// requirement: wait_any gets the index of an ended task, and reports no error
TEST_P(CTicket, WaitAnyFindsAnEndedTask) {
  flotilla_ticket const failed = failing();
  EXPECT_EQ(flotilla_ticket_wait(failed), FLOTILLA_TASK_FAILED);
  c_held held{rt, kernel("hold_until"), 0};
  flotilla_ticket const both[] = {held.ticket(), failed};
  std::size_t index = 9;
  FLOTILLA_C_OK(flotilla_wait_any(both, 2, &index));
  EXPECT_EQ(index, 1u);
  {
    std::jthread const releasing{[&] { held.release(); }};
    FLOTILLA_C_OK(flotilla_wait_any(both, 1, &index));
  }
  EXPECT_EQ(index, 0u);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_wait_any(both, 0, &index));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_wait_any(nullptr, 2, &index));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "index", flotilla_wait_any(both, 2, nullptr));
  release({failed});
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "1", flotilla_wait_any(both, 2, &index));
}

// requirement: a task that is not launched is cancelled, and its successors fail
TEST_P(CTicket, CancelledTaskDoesNotRun) {
  flotilla_buffer const word = words(0);
  flotilla_ticket task{}, behind{};
  {
    c_gate gate{rt};
    flotilla_task_options options = after(gate.ticket());
    options.label = "step 3";
    FLOTILLA_C_OK(add(word, 1, &options, &task));
    options = after(task);
    FLOTILLA_C_OK(add(word, 1, &options, &behind));
    int cancelled = 5;
    FLOTILLA_C_OK(flotilla_ticket_cancel(task, &cancelled));
    EXPECT_EQ(cancelled, 1);
    FLOTILLA_C_OK(flotilla_ticket_cancel(task, nullptr));
    gate.open();
    FLOTILLA_C_FAILS(FLOTILLA_TASK_CANCELLED, "step 3", flotilla_ticket_wait(task));
    FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "step 3", flotilla_ticket_wait(behind));
    EXPECT_EQ(last_details().cause, FLOTILLA_TASK_CANCELLED);
  }
  release({task, behind});
  EXPECT_EQ(read(word), 0u);
}

// requirement: a task that does not begin in time ends with FLOTILLA_TIMED_OUT
TEST_P(CTicket, TimeoutEndsATask) {
  flotilla_buffer const word = words(0);
  flotilla_ticket task{}, behind{};
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.label = "step 3";
  options.timeout_ns = 1;  // has passed before the device can look at the task
  FLOTILLA_C_OK(add(word, 1, &options, &task));
  options = after(task);
  FLOTILLA_C_OK(add(word, 1, &options, &behind));
  FLOTILLA_C_FAILS(FLOTILLA_TIMED_OUT, "step 3", flotilla_ticket_wait(task));
  FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "step 3", flotilla_ticket_wait(behind));
  EXPECT_EQ(last_details().cause, FLOTILLA_TIMED_OUT);
  EXPECT_STREQ(flotilla_status_name(FLOTILLA_TIMED_OUT), "FLOTILLA_TIMED_OUT");
  options = FLOTILLA_TASK_OPTIONS_INIT;
  options.size -= 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "size", add(word, 1, &options, nullptr));
  EXPECT_STREQ(flotilla_status_name(FLOTILLA_DEVICE_FAULT), "FLOTILLA_DEVICE_FAULT");
  options.size = sizeof options;
  for (std::uint64_t const limit : {60'000 * c_millisecond, UINT64_MAX}) {
    flotilla_ticket in_time{};
    options.timeout_ns = limit;
    FLOTILLA_C_OK(add(word, 1, &options, &in_time));
    EXPECT_EQ(end_of(in_time), FLOTILLA_SUCCESS);
  }
  release({task, behind});
  EXPECT_EQ(read(word), 2u);
}

// requirement: running and ended tasks are not cancelled
TEST_P(CTicket, EndedTaskIsNotCancelled) {
  flotilla_ticket const good = succeeding();
  FLOTILLA_C_OK(flotilla_ticket_wait(good));
  int cancelled = 5;
  FLOTILLA_C_OK(flotilla_ticket_cancel(good, &cancelled));
  EXPECT_EQ(cancelled, 0);
  FLOTILLA_C_OK(flotilla_ticket_wait(good));
  release({good});
}

// requirement: the device of a task that names one is known at once
TEST_P(CTicket, KnowsTheDevice) {
  flotilla_ticket const there = succeeding(1);
  int device = -5;
  FLOTILLA_C_OK(flotilla_ticket_device(there, &device));
  EXPECT_EQ(device, 1);
  FLOTILLA_C_OK(end_of(there));
  flotilla_ticket const anywhere = succeeding();
  FLOTILLA_C_OK(flotilla_ticket_wait(anywhere));
  FLOTILLA_C_OK(flotilla_ticket_device(anywhere, &device));
  EXPECT_GE(device, int{FLOTILLA_ANY_DEVICE});
  EXPECT_LT(device, 2);
  release({anywhere});
}

// requirement: a task runs although its ticket was released
TEST_P(CTicket, ReleasedTaskStillRuns) {
  flotilla_buffer const word = words(1);
  for (int i = 0; i < 10; ++i) {
    flotilla_ticket ticket{};
    FLOTILLA_C_OK(add(word, 1, nullptr, &ticket));
    release({ticket});
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "ticket", flotilla_ticket_wait(ticket));
  }
  EXPECT_EQ(read(word), 10u);
}

// requirement: a ticket outlives its runtime, with the error of its task
TEST_P(CTicket, OutlivesItsRuntime) {
  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_ticket failed{};
  FLOTILLA_C_OK(submit_body(
      other, [](flotilla_task_context const&) { return 7; }, nullptr, &failed));
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
  int ready = 0, cancelled = 5;
  FLOTILLA_C_OK(flotilla_ticket_ready(failed, &ready));
  EXPECT_EQ(ready, 1);
  FLOTILLA_C_OK(flotilla_ticket_cancel(failed, &cancelled));
  EXPECT_EQ(cancelled, 0);
  FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "7", flotilla_ticket_wait(failed));
  EXPECT_EQ(last_details().code, 7);
  release({failed});
}

// requirement: null pointers
TEST_P(CTicket, RefusesNullPointers) {
  flotilla_ticket const good = succeeding();
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "ready", flotilla_ticket_ready(good, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "ended",
                   flotilla_ticket_wait_for(good, c_millisecond, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "device", flotilla_ticket_device(good, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "function",
                   flotilla_ticket_then(good, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_ticket_wait(good));
  release({good});
}

}  // namespace
}  // namespace flotilla::test
