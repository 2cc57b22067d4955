// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Buffers of the C interface.

#include <cstdint>
#include <cstring>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CMemory : public c_api_test {};
FLOTILLA_C_API(CMemory);

// requirement: a buffer has an address and a size until it is freed
TEST_P(CMemory, BuffersHaveAddressAndSize) {
  flotilla_buffer device{}, pinned{};
  FLOTILLA_C_OK(flotilla_device_alloc(rt, 1, 1000, &device));
  FLOTILLA_C_OK(flotilla_host_alloc(rt, 2000, &pinned));
  EXPECT_NE(device.id, 0u);
  EXPECT_NE(device.id, pinned.id);
  for (flotilla_buffer const buffer : {device, pinned}) {
    void* address = nullptr;
    std::size_t bytes = 0;
    FLOTILLA_C_OK(flotilla_buffer_address(buffer, &address));
    FLOTILLA_C_OK(flotilla_buffer_bytes(buffer, &bytes));
    EXPECT_NE(address, nullptr);
    EXPECT_EQ(bytes, buffer.id == device.id ? 1000u : 2000u);
    if (buffer.id == pinned.id) { std::memset(address, 5, bytes); }
    FLOTILLA_C_OK(flotilla_buffer_free(buffer));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_buffer_address(buffer, &address));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_buffer_bytes(buffer, &bytes));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_buffer_free(buffer));
  }
}

// boundary: buffers without bytes
TEST_P(CMemory, BuffersMayBeEmpty) {
  for (bool const on_host : {false, true}) {
    flotilla_buffer buffer{};
    std::size_t bytes = 7;
    FLOTILLA_C_OK(on_host ? flotilla_host_alloc(rt, 0, &buffer)
                          : flotilla_device_alloc(rt, 0, 0, &buffer));
    FLOTILLA_C_OK(flotilla_buffer_bytes(buffer, &bytes));
    EXPECT_EQ(bytes, 0u);
    FLOTILLA_C_OK(flotilla_buffer_free(buffer));
  }
}

// requirement: free does not wait, and open tasks still use the memory
TEST_P(CMemory, FreedMemoryStaysUntilTheTasksHaveEnded) {
  flotilla_buffer const result = words(1);
  flotilla_buffer source{};
  std::uint32_t const value = 42;
  flotilla_ticket filled{}, copied{};
  FLOTILLA_C_OK(flotilla_device_alloc(rt, 1, sizeof value, &source));
  {
    c_held held{rt, kernel("hold_until"), 1};
    flotilla_task_options options = after(held.ticket());
    FLOTILLA_C_OK(flotilla_submit_fill(flotilla_in_buffer(source, 0), &value, sizeof value, 1,
                                       &options, &filled));
    options = after(filled);
    FLOTILLA_C_OK(flotilla_submit_copy(flotilla_in_buffer(result, 0), flotilla_in_buffer(source, 0),
                                       sizeof value, &options, &copied));
    FLOTILLA_C_OK(flotilla_buffer_free(source));
    int ready = 5;
    FLOTILLA_C_OK(flotilla_ticket_ready(copied, &ready));
    EXPECT_EQ(ready, 0);
  }
  FLOTILLA_C_OK(end_of(copied));
  FLOTILLA_C_OK(end_of(filled));
  EXPECT_EQ(read(result), 42u);
}

// requirement: after an error the handle names no object
TEST_P(CMemory, RefusesBadInput) {
  flotilla_buffer made{5};
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2", flotilla_device_alloc(rt, 2, 4, &made));
  EXPECT_EQ(made.id, 0u);
  made.id = 5;
  FLOTILLA_C_FAILS(FLOTILLA_DRIVER_ERROR, "device 0",
                   flotilla_device_alloc(rt, 0, std::size_t{1} << 50, &made));
  EXPECT_EQ(made.id, 0u);
  EXPECT_EQ(last_details().driver_status, 2);  // CUDA_ERROR_OUT_OF_MEMORY
  EXPECT_EQ(last_details().code, 0);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_device_alloc(rt, 0, 4, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_host_alloc(rt, 4, nullptr));
  flotilla_buffer const word = words();
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_buffer_address(word, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_buffer_bytes(word, nullptr));
}

}  // namespace
}  // namespace flotilla::test
