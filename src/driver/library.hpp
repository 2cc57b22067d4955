#pragma once
// The drivers of this process: the system's driver, opened at run time, and the CPU driver. Each is
// looked for once per process and never closed. A missing driver is not an error, but a result with
// a text.

#include <memory>
#include <string>

#include "driver/table.hpp"

namespace flotilla::cpu_driver {
struct flotilla_cpu_driver_control;
}

namespace flotilla::driver {

struct opened {
  std::shared_ptr<table const> api;  // null: there is none, and `text` says why
  std::string text;                  // which driver and version, or why there is none
  int devices = 0;                   // the number of its devices
};

/// The GPU driver: `libcuda.so.1`, or the file that the environment variable FLOTILLA_LIBCUDA
/// names. The text distinguishes a missing file, the toolkit's stub, flotilla's own drop-in (whose
/// devices are no GPUs), a driver that is too old, and a driver without devices.
/// Blocks for cuInit in the first call. Threads: any.
/// @throws used_after_fork  This is a child of the process that initialised the driver.
[[nodiscard]] opened const& gpu_driver();

/// The driver of CPU devices. If the libcuda of this process is flotilla's drop-in, it is that one,
/// so that driver calls of the application and of flotilla use the same driver. Otherwise it is the
/// built-in copy.
/// @throws used_after_fork, driver_error
[[nodiscard]] opened const& cpu_driver();

/// Functions of the driver that `cpu_driver()` returns, for tests.
[[nodiscard]] cpu_driver::flotilla_cpu_driver_control const& cpu_control();

}  // namespace flotilla::driver
