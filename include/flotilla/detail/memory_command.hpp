#pragma once
/// The fields of a copy or fill, as the library reads them.

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

/// What a memory_op holds. Trivially copyable: the library keeps it in a task's slot.
struct memory_command {
  static constexpr std::size_t max_pattern_bytes = 64;

  runtime_impl* owner = nullptr;  // null: a buffer without memory
  memory_op_kind kind = memory_op_kind::fill;
  bool pinned = false;             // the host side is pinned memory of flotilla: no staging
  std::uint8_t pattern_bytes = 1;  // of a fill: the shortest that fits
  std::uintptr_t to = 0;           // device address, or host address
  std::uintptr_t from = 0;
  std::size_t bytes = 0;         // a multiple of pattern_bytes
  device_ordinal device{};       // runs it: the device side, or the destination
  device_ordinal from_device{};  // of device_to_device
  alignas(4) std::byte pattern[max_pattern_bytes] = {};
};

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
