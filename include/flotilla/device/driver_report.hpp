#pragma once
/// The drivers that this process could use, found without making a runtime.

#include <string>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

struct driver_report {
  bool gpus = false;  ///< whether there is a GPU driver with at least one device
  /// Driver and version, or why there is none: missing, stub, no device.
  std::string gpu_text;
  std::string cpu_text;  ///< which CPU driver: built in, or the path of a drop-in
  /// The devices that `auto` would choose from; `ordinal` is the index in this list.
  std::vector<device> devices;
};

/// Looks for drivers and devices. Makes no context.
/// @throws driver_error  A driver failed while it described its devices.
/// Blocks  for cuInit if there is a GPU driver: 0.1 s to 1 s, once per process.
[[nodiscard]] FLOTILLA_EXPORT driver_report describe_drivers();

}  // namespace v0_1
}  // namespace flotilla
