// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Handles that name no object: every function refuses them.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

/// A call with a handle, and its name for messages.
struct c_handle_call {
  char const* name;
  std::function<flotilla_status(std::uint64_t)> make;
};

int c_do_nothing(void*, flotilla_task_context const*) { return 0; }

std::vector<c_handle_call> calls_with_a_runtime() {
  static flotilla_image const image = c_test_image();
  static unsigned count;
  static std::size_t bytes;
  static int open;
  static char const* text;
  static flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
  static flotilla_setting setting = FLOTILLA_SETTING_INIT;
  static flotilla_counters counters = FLOTILLA_COUNTERS_INIT;
  static flotilla_program program;
  static flotilla_buffer buffer;
  static flotilla_recording recording;
  return {
      {"destroy", [](auto id) { return flotilla_runtime_destroy({id}); }},
      {"close", [](auto id) { return flotilla_runtime_close({id}); }},
      {"pump", [](auto id) { return flotilla_pump({id}, &open); }},
      {"wait_idle", [](auto id) { return flotilla_wait_idle({id}); }},
      {"flush_printf", [](auto id) { return flotilla_flush_printf({id}); }},
      {"driver_text", [](auto id) { return flotilla_driver_text({id}, &text); }},
      {"device_count", [](auto id) { return flotilla_device_count({id}, &count); }},
      {"get_device", [](auto id) { return flotilla_get_device({id}, 0, &info); }},
      {"get_memory", [](auto id) { return flotilla_get_memory({id}, 0, &bytes, &bytes); }},
      {"get_setting",
       [](auto id) { return flotilla_get_setting({id}, 0, "limits.stack", &setting); }},
      {"get_counters", [](auto id) { return flotilla_get_counters({id}, 0, &counters); }},
      {"load", [](auto id) { return flotilla_program_load({id}, &image, &program); }},
      {"load_file", [](auto id) { return flotilla_program_load_file({id}, "a", &program); }},
      {"device_alloc", [](auto id) { return flotilla_device_alloc({id}, 0, 4, &buffer); }},
      {"host_alloc", [](auto id) { return flotilla_host_alloc({id}, 4, &buffer); }},
      {"recording_create", [](auto id) { return flotilla_recording_create({id}, &recording); }},
      {"submit_function",
       [](auto id) {
         return flotilla_submit_function({id}, c_do_nothing, nullptr, nullptr, nullptr, nullptr);
       }},
  };
}

std::vector<c_handle_call> calls_with_a_program_or_kernel(bool of_kernel) {
  static flotilla_kernel found;
  static std::uint32_t value;
  static std::size_t count;
  static flotilla_ticket ticket;
  if (!of_kernel) {
    return {
        {"kernel", [](auto id) { return flotilla_program_kernel({id}, "nothing", &found); }},
        {"write_global",
         [](auto id) { return flotilla_program_write_global({id}, 0, "tally", &value, 4); }},
        {"read_global",
         [](auto id) { return flotilla_program_read_global({id}, 0, "tally", &value, 4); }},
    };
  }
  return {
      {"parameter_count", [](auto id) { return flotilla_kernel_parameter_count({id}, &count); }},
      {"parameter_bytes", [](auto id) { return flotilla_kernel_parameter_bytes({id}, 0, &count); }},
      {"submit_launch",
       [](auto id) {
         return flotilla_submit_launch({id}, flotilla_over(1, 1), nullptr, 0, nullptr, &ticket);
       }},
      {"submit_bulk",
       [](auto id) {
         return flotilla_submit_bulk({id}, flotilla_over(1, 1), nullptr, 0, 1, nullptr, &ticket);
       }},
  };
}

std::vector<c_handle_call> calls_with_a_buffer() {
  static void* address;
  static std::size_t bytes;
  return {
      {"free", [](auto id) { return flotilla_buffer_free({id}); }},
      {"address", [](auto id) { return flotilla_buffer_address({id}, &address); }},
      {"bytes", [](auto id) { return flotilla_buffer_bytes({id}, &bytes); }},
  };
}

std::vector<c_handle_call> calls_with_a_ticket() {
  static int answer;
  static std::size_t index;
  return {
      {"release", [](auto id) { return flotilla_ticket_release({id}); }},
      {"ready", [](auto id) { return flotilla_ticket_ready({id}, &answer); }},
      {"wait", [](auto id) { return flotilla_ticket_wait({id}); }},
      {"wait_for", [](auto id) { return flotilla_ticket_wait_for({id}, 1, &answer); }},
      {"cancel", [](auto id) { return flotilla_ticket_cancel({id}, &answer); }},
      {"device", [](auto id) { return flotilla_ticket_device({id}, &answer); }},
      {"then",
       [](auto id) {
         return flotilla_ticket_then(
             {id}, [](void*, flotilla_status, char const*) {}, nullptr);
       }},
      {"wait_all",
       [](auto id) {
         flotilla_ticket const ticket{id};
         return flotilla_wait_all(&ticket, 1);
       }},
      {"wait_any",
       [](auto id) {
         flotilla_ticket const ticket{id};
         return flotilla_wait_any(&ticket, 1, &index);
       }},
  };
}

std::vector<c_handle_call> calls_with_a_recording() {
  static std::uint32_t const value = 1;
  static std::size_t count;
  static flotilla_ticket ticket;
  static flotilla_place const host = flotilla_on_host(nullptr);
  flotilla_shape const one = flotilla_over(1, 1);
  return {
      {"destroy", [](auto id) { return flotilla_recording_destroy({id}); }},
      {"finish", [](auto id) { return flotilla_recording_finish({id}); }},
      {"replay", [](auto id) { return flotilla_recording_replay({id}, nullptr, &ticket); }},
      {"size", [](auto id) { return flotilla_recording_size({id}, &count); }},
      {"launch",
       [one](auto id) {
         return flotilla_record_launch({id}, {}, one, nullptr, 0, nullptr, nullptr);
       }},
      {"copy", [](auto id) { return flotilla_record_copy({id}, host, host, 4, nullptr, nullptr); }},
      {"fill",
       [](auto id) { return flotilla_record_fill({id}, host, &value, 4, 1, nullptr, nullptr); }},
      {"set_launch",
       [one](auto id) { return flotilla_recording_set_launch({id}, 0, {}, one, nullptr, 0); }},
      {"set_copy", [](auto id) { return flotilla_recording_set_copy({id}, 0, host, host, 4); }},
      {"set_fill",
       [](auto id) { return flotilla_recording_set_fill({id}, 0, host, &value, 4, 1); }},
  };
}

void expect_all_refused(std::vector<c_handle_call> const& calls, std::uint64_t id) {
  for (c_handle_call const& each : calls) {
    SCOPED_TRACE(each.name);
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", each.make(id));
  }
}

class CHandles : public c_api_test {
 protected:
  void SetUp() override {
    c_api_test::SetUp();
    buffer_ = words();
    FLOTILLA_C_OK(flotilla_submit_function(rt, c_do_nothing, nullptr, nullptr, nullptr, &ticket_));
  }
  void TearDown() override {
    FLOTILLA_C_OK(end_of(ticket_));
    c_api_test::TearDown();
  }
  /// Tries a handle in every call that needs an object of another kind than `own`.
  void expect_refused_except(std::uint64_t own, std::uint64_t id) {
    if (own != rt.id) { expect_all_refused(calls_with_a_runtime(), id); }
    if (own != program.id) { expect_all_refused(calls_with_a_program_or_kernel(false), id); }
    if (own != kernel_.id) { expect_all_refused(calls_with_a_program_or_kernel(true), id); }
    if (own != buffer_.id) { expect_all_refused(calls_with_a_buffer(), id); }
    if (own != ticket_.id) { expect_all_refused(calls_with_a_ticket(), id); }
    if (own != recording_.id) { expect_all_refused(calls_with_a_recording(), id); }
  }
  flotilla_kernel kernel_{};
  flotilla_buffer buffer_{};
  flotilla_ticket ticket_{};
  flotilla_recording recording_{};
};
FLOTILLA_C_API(CHandles);

// requirement: a handle whose bytes are zero, and numbers that flotilla never gave out
TEST_P(CHandles, ZeroAndArbitraryNumbersAreRefused) {
  for (std::uint64_t const id : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX, UINT64_MAX >> 1,
                                 std::uint64_t{0x123456789abcdef}, rt.id + 12345}) {
    SCOPED_TRACE(id);
    expect_refused_except(UINT64_MAX, id);
  }
}

// requirement: a handle of another kind of object
TEST_P(CHandles, HandlesOfOtherKindsAreRefused) {
  kernel_ = kernel("nothing");
  FLOTILLA_C_OK(flotilla_recording_create(rt, &recording_));
  for (std::uint64_t const id :
       {rt.id, program.id, kernel_.id, buffer_.id, ticket_.id, recording_.id}) {
    SCOPED_TRACE(id);
    expect_refused_except(id, id);
  }
  FLOTILLA_C_OK(flotilla_recording_destroy(recording_));
  expect_all_refused(calls_with_a_recording(), recording_.id);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "ticket", flotilla_runtime_close({ticket_.id}));
  FLOTILLA_C_OK(flotilla_wait_idle(rt)) << "the refused calls changed nothing";
}

// requirement: handles of a destroyed runtime, of its programs and of its kernels
TEST_P(CHandles, HandlesEndWithTheirRuntime) {
  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_program const loaded = load(other);
  flotilla_kernel const nothing = kernel_of(loaded, "nothing");
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
  for (int i = 0; i < 2; ++i) {
    expect_all_refused(calls_with_a_runtime(), other.id);
    expect_all_refused(calls_with_a_program_or_kernel(false), loaded.id);
    expect_all_refused(calls_with_a_program_or_kernel(true), nothing.id);
  }
  FLOTILLA_C_OK(flotilla_runtime_close(rt)) << "another runtime is not affected";
}

// requirement: an id is not used again for the next object
TEST_P(CHandles, FreedHandlesAreNotUsedAgain) {
  flotilla_buffer first{};
  FLOTILLA_C_OK(flotilla_host_alloc(rt, 4, &first));
  FLOTILLA_C_OK(flotilla_buffer_free(first));
  for (int i = 0; i < 200; ++i) {
    flotilla_buffer next{};
    FLOTILLA_C_OK(flotilla_host_alloc(rt, 4, &next));
    EXPECT_NE(next.id, first.id);
    expect_all_refused(calls_with_a_buffer(), first.id);
    FLOTILLA_C_OK(flotilla_buffer_free(next));
  }
  flotilla_ticket const done = failing();
  EXPECT_EQ(end_of(done), FLOTILLA_TASK_FAILED);
  for (int i = 0; i < 200; ++i) {
    flotilla_ticket const next = failing();
    EXPECT_NE(next.id, done.id);
    EXPECT_EQ(flotilla_ticket_wait(done), FLOTILLA_INVALID_HANDLE);
    EXPECT_EQ(end_of(next), FLOTILLA_TASK_FAILED);
  }
}

}  // namespace
}  // namespace flotilla::test
