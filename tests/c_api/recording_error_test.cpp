// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls with recordings that the C interface refuses.

#include <cstdint>

#include "c_api/recording_fixture.hpp"

namespace flotilla::test {
namespace {

class CRecordingErrors : public c_recording_test {};
FLOTILLA_C_API(CRecordingErrors);

// requirement: bad input is refused with a text that names it, and adds nothing
TEST_P(CRecordingErrors, BadInputIsRefused) {
  flotilla_buffer const memory = words();
  std::uint32_t const value = 1;
  std::size_t task = 17;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "no task", flotilla_recording_finish(recording));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT,
                   "options->after[0] is 0, but the recording has 0 tasks",
                   record_step(memory, 1, 1, {0}, &task));
  record_chain(memory, 7, 1);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT,
                   "options->after[1] is 2, but the recording has 2 tasks",
                   record_step(memory, 1, 1, {1, 2}, &task));
  flotilla_recorded_options options = FLOTILLA_RECORDED_OPTIONS_INIT;
  options.after_count = 1;
  auto const fill = [&](flotilla_buffer to) {
    return flotilla_record_fill(recording, flotilla_in_buffer(to, 0), &value, sizeof value, 1,
                                &options, &task);
  };
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "options->after", fill(memory));
  options = FLOTILLA_RECORDED_OPTIONS_INIT;
  options.device = 7;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "device", fill(memory));
  options.device = -3;
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "-3", fill(memory));
  options = FLOTILLA_RECORDED_OPTIONS_INIT;
  options.size = 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_recorded_options", fill(memory));
  options = FLOTILLA_RECORDED_OPTIONS_INIT;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "host", fill({}));
  std::uint32_t pageable = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "pageable",
                   flotilla_record_copy(recording, flotilla_in_buffer(memory, 0),
                                        flotilla_on_host(&pageable), 4, nullptr, &task));
  EXPECT_EQ(task, 17u);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "'task' is 2, but the recording has 2 tasks",
                   flotilla_recording_set_fill(recording, 2, flotilla_in_buffer(memory, 0), &value,
                                               sizeof value, 1));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "launch",
                   flotilla_recording_set_fill(recording, 1, flotilla_in_buffer(memory, 0), &value,
                                               sizeof value, 1));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "count", flotilla_recording_size(recording, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "ticket",
                   flotilla_recording_replay(recording, nullptr, nullptr));
  FLOTILLA_C_OK(replay());
  EXPECT_EQ(read(memory), 70u);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "finished", record_step(memory, 1, 1, {}, nullptr));
  std::size_t count = 0;
  FLOTILLA_C_OK(flotilla_recording_size(recording, &count));
  EXPECT_EQ(count, 2u);
}

// requirement: kernels and buffers of another runtime are refused
TEST_P(CRecordingErrors, ObjectsOfAnotherRuntimeAreRefused) {
  flotilla_runtime const other = make_c_runtime(0);
  FLOTILLA_C_FAILS(FLOTILLA_WRONG_RUNTIME, "another runtime",
                   flotilla_record_launch(recording, kernel_of(load(other), "nothing"),
                                          flotilla_over(1, 1), nullptr, 0, nullptr, nullptr));
  flotilla_buffer foreign{};
  std::uint32_t const value = 1;
  FLOTILLA_C_OK(flotilla_device_alloc(other, 0, 4, &foreign));
  FLOTILLA_C_FAILS(FLOTILLA_WRONG_RUNTIME, "another runtime",
                   flotilla_record_fill(recording, flotilla_in_buffer(foreign, 0), &value,
                                        sizeof value, 1, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_buffer_free(foreign));
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
}

// requirement: a runtime with recordings is not destroyed, and goes on
TEST_P(CRecordingErrors, RuntimeWithRecordingsIsNotDestroyed) {
  flotilla_runtime const owner = make_c_runtime(GetParam());
  flotilla_recording one{};
  FLOTILLA_C_OK(flotilla_recording_create(owner, &one));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "1 of its recordings", flotilla_runtime_destroy(owner));
  FLOTILLA_C_OK(flotilla_wait_idle(owner));
  FLOTILLA_C_OK(flotilla_recording_destroy(one));
  FLOTILLA_C_OK(flotilla_runtime_destroy(owner));
}

// requirement: a handle of another kind is refused by name
TEST_P(CRecordingErrors, OtherHandlesAreRefused) {
  flotilla_recording const wrong{rt.id};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "expected a recording, but the handle names a runtime",
                   flotilla_recording_finish(wrong));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "is zero", flotilla_recording_finish({}));
  flotilla_recording made{7};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "a runtime", flotilla_recording_create({}, &made));
  EXPECT_EQ(made.id, 0u);
}

}  // namespace
}  // namespace flotilla::test
