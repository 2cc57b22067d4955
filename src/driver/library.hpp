// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The drivers of this process: the system's driver, which is opened at run time, and the CPU
// driver. Each driver is opened once per process and never closed. A missing driver is not an
// error: in that case `opened::api` is null, and `opened::text` has the reason.

#include <memory>
#include <string>

#include "driver/table.hpp"

namespace flotilla::cpu_driver {
struct flotilla_cpu_driver_control;
}

namespace flotilla::driver {

struct opened {
  std::shared_ptr<table const> api;  // null if there is no usable driver
  std::string text;                  // the driver and its version, or why there is no usable driver
  int devices = 0;                   // the number of devices
};

/// Returns the GPU driver: `libcuda.so.1`, or the file that the environment variable
/// FLOTILLA_LIBCUDA names. If there is no usable GPU driver, the text distinguishes these cases:
/// the file is missing, is the toolkit's stub, is flotilla's own drop-in (which has no GPUs), is
/// too old, or has no device.
/// Blocks: during cuInit in the first call. Threads: any.
/// @throws used_after_fork  This process is a child of the process that initialised the driver.
[[nodiscard]] opened const& gpu_driver();

/// Returns the driver of CPU devices. If the libcuda of this process is flotilla's drop-in, the
/// result is the drop-in, so that the application and flotilla use the same driver. Otherwise the
/// result is the CPU driver that is built into flotilla.
/// Threads: any.
/// @throws used_after_fork, driver_error
[[nodiscard]] opened const& cpu_driver();

/// Returns the control functions (devices, fault injection) of the driver that `cpu_driver()`
/// returns.
[[nodiscard]] cpu_driver::flotilla_cpu_driver_control const& cpu_control();

}  // namespace flotilla::driver
