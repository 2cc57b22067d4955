// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Devices and their ordinals.

#include <compare>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The index of a device in `runtime::devices()`. It can differ from the driver's ordinal.
struct device_ordinal {
  unsigned value = 0;
  auto operator<=>(device_ordinal const&) const = default;
};

enum class device_kind { gpu, cpu };

/// The properties of a device. They do not change after the runtime has been constructed.
struct device {
  device_ordinal ordinal;  ///< index in `runtime::devices()`
  device_kind kind = device_kind::cpu;
  int driver_ordinal = 0;  ///< the driver's own number, from 0
  std::string name;        ///< the driver's name for the device, such as "NVIDIA H200"
  std::string uuid;        ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "CPU-…"
  std::string pci_id;      ///< "domain:bus:device.function"
  int numa_node = -1;      ///< the NUMA node nearest to the device; -1 if unknown
  /// The number of multiprocessors that the device may use. A CPU device has as many as an H200,
  /// which is 132, unless the device is a green context.
  int multiprocessors = 0;
  int part = -1;                 ///< for a green context: its index among the parts; otherwise -1
  std::size_t memory_bytes = 0;  ///< total device memory

  /// Lets functions that take an ordinal also take a device.
  operator device_ordinal() const noexcept { return ordinal; }
};

/// The ordinal of a device, or nothing. It is made of a device, an ordinal, or an optional ordinal.
/// A plain number is refused, because it could be the number of the driver.
class optional_device : public std::optional<device_ordinal> {
 public:
  constexpr optional_device() noexcept = default;
  constexpr optional_device(std::nullopt_t) noexcept {}
  constexpr optional_device(device_ordinal one) noexcept : std::optional<device_ordinal>{one} {}
  constexpr optional_device(std::optional<device_ordinal> one) noexcept
      : std::optional<device_ordinal>{one} {}
  optional_device(device const& one) noexcept : std::optional<device_ordinal>{one.ordinal} {}
  template <std::integral Number>
  optional_device(Number) = delete;  // write device_ordinal{n}
};

}  // namespace v0_1
}  // namespace flotilla
