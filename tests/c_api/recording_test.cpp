// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recordings of the C interface.

#include <cstdint>

#include "c_api/recording_fixture.hpp"

namespace flotilla::test {
namespace {

class CRecording : public c_recording_test {};
FLOTILLA_C_API(CRecording);

// requirement: each replay runs all tasks in their order
TEST_P(CRecording, ReplaysRunTheTasksInOrder) {
  flotilla_buffer const memory = words();
  EXPECT_EQ(record_chain(memory, 7, 3), 3u);
  std::size_t count = 0;
  FLOTILLA_C_OK(flotilla_recording_size(recording, &count));
  EXPECT_EQ(count, 4u);
  FLOTILLA_C_OK(flotilla_recording_finish(recording));
  FLOTILLA_C_OK(flotilla_recording_finish(recording));
  for (int i = 0; i < 3; ++i) {
    FLOTILLA_C_OK(replay());
    EXPECT_EQ(read(memory), 7012u);
  }
}

// requirement: values and options are copied when a task is recorded
TEST_P(CRecording, ArgumentsAreCopied) {
  flotilla_buffer const memory = words();
  std::size_t predecessor = record_chain(memory, 5, 0);
  std::uint32_t factor = 3, summand = 1;
  flotilla_argument arguments[] = {flotilla_address(memory, 0), FLOTILLA_VALUE(factor),
                                   FLOTILLA_VALUE(summand)};
  flotilla_recorded_options options = FLOTILLA_RECORDED_OPTIONS_INIT;
  options.after = &predecessor;
  options.after_count = 1;
  FLOTILLA_C_OK(flotilla_record_launch(recording, kernel("multiply_add"), flotilla_over(1, 1),
                                       arguments, 3, &options, nullptr));
  factor = summand = 100;
  predecessor = 50;
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(read(memory), 16u);
}

// requirement: copies run between devices and from and to pinned memory
TEST_P(CRecording, CopiesBetweenDevicesAndPinnedMemory) {
  flotilla_buffer const first = words(0), second = words(1);
  flotilla_buffer pinned{};
  void* address = nullptr;
  FLOTILLA_C_OK(flotilla_host_alloc(rt, 8, &pinned));
  FLOTILLA_C_OK(flotilla_buffer_address(pinned, &address));
  auto* const values = static_cast<std::uint32_t*>(address);
  values[0] = 4;
  std::size_t task = 0;
  FLOTILLA_C_OK(flotilla_record_copy(recording, flotilla_in_buffer(first, 0),
                                     flotilla_in_buffer(pinned, 0), 4, nullptr, &task));
  FLOTILLA_C_OK(record_step(first, 2, 1, {task}, &task));
  flotilla_recorded_options options = after({});
  options.after = &task;
  options.after_count = 1;
  FLOTILLA_C_OK(flotilla_record_copy(recording, flotilla_in_buffer(second, 0),
                                     flotilla_in_buffer(first, 0), 4, &options, &task));
  FLOTILLA_C_OK(record_step(second, 3, 0, {task}, &task));
  FLOTILLA_C_OK(flotilla_record_copy(recording, flotilla_in_buffer(pinned, 4),
                                     flotilla_in_buffer(second, 0), 4, &options, &task));
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(values[1], 27u);
  values[0] = 10;
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(values[1], 63u);
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
}

// requirement: a launch without memory of a device runs on the device of its options
TEST_P(CRecording, OptionsNameTheDevice) {
  flotilla_buffer const memory = words(1);
  void* address = nullptr;
  FLOTILLA_C_OK(flotilla_buffer_address(memory, &address));
  std::uint32_t const value = 8;
  flotilla_argument const arguments[] = {FLOTILLA_VALUE(address), FLOTILLA_VALUE(value)};
  flotilla_recorded_options options = FLOTILLA_RECORDED_OPTIONS_INIT;
  options.device = 1;
  FLOTILLA_C_OK(flotilla_record_launch(recording, kernel("write_value"), flotilla_over(1, 1),
                                       arguments, 2, &options, nullptr));
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(read(memory), 8u);
  flotilla_counters counters = FLOTILLA_COUNTERS_INIT;
  FLOTILLA_C_OK(flotilla_get_counters(rt, 0, &counters));
  EXPECT_EQ(counters.tasks, 0u) << "a task ran on the other device";
}

// requirement: a task that was set has its new arguments in all later replays
TEST_P(CRecording, SetReplacesTasks) {
  flotilla_buffer const memory = words(0, 0, 2), other = words(0, 0);
  std::size_t const last = record_chain(memory, 7, 1);
  flotilla_recorded_options options = after({});
  options.after = &last;
  options.after_count = 1;
  std::size_t copy = 0;
  FLOTILLA_C_OK(flotilla_record_copy(recording, flotilla_in_buffer(other, 0),
                                     flotilla_in_buffer(memory, 0), 4, &options, &copy));
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(read(other), 70u);

  std::uint32_t const factor = 2, summand = 1, value = 20;
  flotilla_argument const arguments[] = {flotilla_address(memory, 0), FLOTILLA_VALUE(factor),
                                         FLOTILLA_VALUE(summand)};
  FLOTILLA_C_OK(flotilla_recording_set_fill(recording, 0, flotilla_in_buffer(memory, 0), &value,
                                            sizeof value, 1));
  FLOTILLA_C_OK(flotilla_recording_set_launch(recording, last, kernel("multiply_add"),
                                              flotilla_over(1, 1), arguments, 3));
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(read(other), 41u);
  FLOTILLA_C_OK(flotilla_recording_set_copy(recording, copy, flotilla_in_buffer(other, 0),
                                            flotilla_in_buffer(memory, 4), 4));
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(read(other), 0u);
}

// requirement: a replay waits for its predecessors, and fails if one of them fails
TEST_P(CRecording, ReplaysHavePredecessors) {
  flotilla_buffer const memory = words();
  record_chain(memory, 7, 1);
  flotilla_replay_options options = FLOTILLA_REPLAY_OPTIONS_INIT;
  options.after_count = 1;
  options.label = "the second step";
  options.priority = -1;
  flotilla_ticket ticket{};
  {
    c_held const held{rt, kernel("hold_until"), 0};
    options.after = &held.ticket();
    FLOTILLA_C_OK(flotilla_recording_replay(recording, &options, &ticket));
    int is_ready = 1;
    FLOTILLA_C_OK(flotilla_ticket_ready(ticket, &is_ready));
    EXPECT_EQ(is_ready, 0);
  }
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory), 70u);

  flotilla_ticket const failed = failing();
  options.after = &failed;
  FLOTILLA_C_OK(flotilla_recording_replay(recording, &options, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "the second step", flotilla_ticket_wait(ticket));
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
  EXPECT_EQ(end_of(failed), FLOTILLA_TASK_FAILED);
  FLOTILLA_C_OK(replay());
}

// requirement: `ticket` may be the predecessor's variable
TEST_P(CRecording, TicketMayReplaceThePredecessor) {
  flotilla_buffer const memory = words();
  record_chain(memory, 7, 1);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_recording_replay(recording, nullptr, &ticket));
  flotilla_ticket const first = ticket;
  flotilla_replay_options options = FLOTILLA_REPLAY_OPTIONS_INIT;
  options.after = &ticket;
  options.after_count = 1;
  FLOTILLA_C_OK(flotilla_recording_replay(recording, &options, &ticket));
  EXPECT_NE(ticket.id, first.id);
  FLOTILLA_C_OK(end_of(ticket));
  FLOTILLA_C_OK(end_of(first));
}

// requirement: replays that were submitted run, although the recording is gone
TEST_P(CRecording, ReplaysOutliveTheRecording) {
  flotilla_buffer const memory = words();
  record_chain(memory, 7, 2);
  FLOTILLA_C_OK(flotilla_recording_finish(recording));  // would wait for the gate
  flotilla_replay_options options = FLOTILLA_REPLAY_OPTIONS_INIT;
  options.after_count = 1;
  flotilla_ticket ticket{};
  {
    c_gate gate{rt};
    options.after = &gate.ticket();
    FLOTILLA_C_OK(flotilla_recording_replay(recording, &options, &ticket));
    FLOTILLA_C_OK(flotilla_recording_destroy(recording));
  }
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "any more", flotilla_recording_destroy(recording));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "any more", flotilla_recording_finish(recording));
  recording = {};
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory), 701u);
}

}  // namespace
}  // namespace flotilla::test
