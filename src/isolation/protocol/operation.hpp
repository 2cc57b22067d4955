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
  count
};

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
