#pragma once
/// Copies and fills as data.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <flotilla/device.hpp>

namespace flotilla {

namespace dispatch {
class core;
}

/// A copy or a fill described and not yet submitted. Made by buffers. What it names must stay until its
/// ticket is done: host memory is read and written then, not at `submit`.
struct transfer {
  enum class kinds : std::uint8_t { host_to_device, device_to_host, device_to_device, fill };
  dispatch::core* owner = nullptr;
  kinds kind = kinds::fill;
  bool pinned = false;             ///< the host side is a host_buffer: no staging
  std::uint8_t fill_width = 1;     ///< bytes of the pattern: 1, 2 or 4
  std::uint32_t fill_value = 0;
  std::uintptr_t to = 0;           ///< device address, or host address
  std::uintptr_t from = 0;
  std::size_t bytes = 0;
  device_ordinal device{};         ///< where it runs: the device side, or the destination's device
  device_ordinal from_device{};    ///< of device_to_device
};

}  // namespace flotilla
