// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The fields of a copy or fill.

#include <cstddef>
#include <cstdint>

#include <flotilla/detail/access.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

enum class memory_op_kind : std::uint8_t {
  host_to_device,
  device_to_host,
  device_to_device,
  fill,
};

namespace detail {

/// The data of a memory_op. It is trivially copyable because the library stores it in a task's
/// slot.
struct memory_command {
  static constexpr std::size_t max_pattern_bytes = 64;

  runtime_impl* owner = nullptr;  // null if the buffer has no memory
  memory_op_kind kind = memory_op_kind::fill;
  bool pinned = false;             // whether the host memory belongs to a host_buffer
  std::uint8_t pattern_bytes = 1;  // for fill: the length of the shortest repeating pattern
  std::uintptr_t to = 0;           // device or host address
  std::uintptr_t from = 0;         // device or host address
  std::size_t bytes = 0;           // a multiple of pattern_bytes
  device_ordinal device{};         // the device that runs the command
  device_ordinal from_device{};    // for device_to_device: the device of the source
  alignas(4) std::byte pattern[max_pattern_bytes] = {};
};

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
