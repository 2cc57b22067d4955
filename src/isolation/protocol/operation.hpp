// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The head of a request, and the numbers of the operations: one for each entry of the driver table.

#include <cstdint>

namespace flotilla::isolated {

enum class operation : std::uint16_t {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) field,
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
  ping,           // no arguments
  parameters_of,  // a function; answers the sizes of its parameters
  // Changes, and then perhaps a launch: requests, each after its number of bytes. All changes are
  // executed; the launch only if none of them failed. The status is that of the first failure.
  batch,
  count
};

/// Whether the operation puts work into a stream and returns before the work has ended.
constexpr bool is_enqueue(operation what) noexcept {
  switch (what) {
    case operation::stream_wait_event:
    case operation::stream_write_value_32:
    case operation::stream_write_value_64:
    case operation::stream_wait_value_32:
    case operation::stream_wait_value_64:
    case operation::event_record:
    case operation::memcpy_async:
    case operation::memcpy_htod_async:
    case operation::memcpy_dtoh_async:
    case operation::memcpy_dtod_async:
    case operation::memcpy_2d_async:
    case operation::memset_d8_async:
    case operation::memset_d16_async:
    case operation::memset_d32_async:
    case operation::launch_kernel:
    case operation::launch_kernel_ex:
    case operation::launch_cooperative_kernel:
    case operation::graph_launch: return true;
    default: return false;
  }
}

struct request_head {
  operation what;
  std::uint16_t unused = 0;
  std::uint32_t context = 0;  // the object that must be current, or 0
};

// Objects go over the channel as indices. Index 0 is the null handle, and the last two are the
// streams that the driver names by small numbers.
inline constexpr std::uint32_t legacy_stream = 0xffff'fffe;
inline constexpr std::uint32_t per_thread_stream = 0xffff'fffd;
inline constexpr std::uint32_t max_objects = 1u << 22;
/// Objects from this index on belong to all devices of the process: libraries and their kernels.
inline constexpr std::uint32_t first_shared_object = max_objects / 2;

}  // namespace flotilla::isolated
