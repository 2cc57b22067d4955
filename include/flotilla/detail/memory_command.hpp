// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The fields of a copy or fill.

#include <cstddef>
#include <cstdint>
#include <cstring>

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

/// Which kernels can access memory by its address. A greater value includes the smaller ones.
enum class kernel_reach : std::uint8_t {
  nowhere,     ///< none, or the library does not know: pageable memory, for example
  own_device,  ///< kernels on the device of the memory
  peers,       ///< also kernels on devices with peer access; host memory: kernels on every device
};

/// The host's side of a copy.
enum class host_memory : std::uint8_t {
  pageable,
  pinned,
  mapped,  ///< pinned, and kernels on every device can access it by its host address
};

/// The distances between neighbouring rows and planes of an array in memory, in bytes.
struct memory_pitch {
  std::size_t row = 0;
  std::size_t plane = 0;
  bool operator==(memory_pitch const&) const = default;
};

/// What a pitched copy copies: `depth` planes of `height` rows of `width` bytes.
struct copy_box {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  memory_pitch to;
  memory_pitch from;
};

/// The data of a memory_op. It is trivially copyable because the library stores it in a task's
/// slot. The members that most copies need are in its first 32 bytes, which share a cache line of
/// the slot.
struct memory_command {
  static constexpr std::size_t max_pattern_bytes = 64;

  std::uintptr_t to = 0;    // device or host address
  std::uintptr_t from = 0;  // device or host address
  std::size_t bytes = 0;    // a multiple of pattern_bytes
  memory_op_kind kind = memory_op_kind::fill;
  bool pinned = false;             // whether the host memory belongs to a host_buffer
  std::uint8_t pattern_bytes = 1;  // for fill: the length of the shortest repeating pattern
  kernel_reach reach = kernel_reach::nowhere;  // of all memory of the command
  device_ordinal device{};                     // the device that runs the command
  runtime_impl* owner = nullptr;               // null if the buffer has no memory
  device_ordinal from_device{};                // for device_to_device: the device of the source
  bool is_pitched = false;                     // for copies: whether `box` describes the copy
  std::uint8_t unused[3] = {};                 // so that the pattern begins at a multiple of 16
  alignas(4) std::byte pattern[max_pattern_bytes] = {};  // or, of a pitched copy, its box

  [[nodiscard]] copy_box box() const noexcept {
    copy_box made;
    std::memcpy(&made, pattern, sizeof made);
    return made;
  }
  void set_box(copy_box const& box) noexcept {
    is_pitched = true;
    std::memcpy(pattern, &box, sizeof box);
  }
};
static_assert(sizeof(copy_box) <= memory_command::max_pattern_bytes);

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
