// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Describes the drivers and devices of this machine without making a runtime.

#include <string>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

struct driver_report {
  bool gpus = false;  ///< whether there is a GPU driver with at least one device
  /// The GPU driver and its version, or the reason why there is no usable GPU driver.
  std::string gpu_text;
  std::string cpu_text;  ///< the CPU driver: the built-in driver, or the path of the drop-in
  /// The devices that runtime_options::devices = "auto" would select. The member `ordinal` of each
  /// device is its index in this list.
  std::vector<device> devices;
};

/// Searches for drivers and devices. The call makes no context.
/// @throws driver_error     A driver call that describes a device failed.
/// @throws used_after_fork  This process is a child of a process that initialised the driver.
/// Blocks  during cuInit if there is a GPU driver. cuInit takes 0.1 s to 1 s, once per process.
[[nodiscard]] FLOTILLA_EXPORT driver_report describe_drivers();

}  // namespace v0_1
}  // namespace flotilla
