#pragma once
/// Which drivers this process could use, without making a runtime.

#include <string>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

struct driver_report {
  bool gpus = false;        ///< whether there is a GPU driver with at least one device
  std::string gpu_text;     ///< which driver and version, or why there is none: missing, stub, no device
  std::string cpu_text;     ///< which CPU driver: built in, or a drop-in by path
  std::vector<device> devices;  ///< all that `auto` would choose from; `ordinal` counts in this list
};

/// Looks. Makes no context. @throws driver_error when a driver breaks while it describes its devices.
/// Blocks  for cuInit where there is a GPU driver: 0.1 s to 1 s, once a process.
[[nodiscard]] FLOTILLA_EXPORT driver_report describe_drivers();

}  // namespace flotilla
