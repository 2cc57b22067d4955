#pragma once
// The drivers of this process: the system's, opened at run time, and the CPU driver. Each is looked for
// once a process and never closed. That there is none is an ordinary answer with its own text.

#include <memory>
#include <string>

#include "driver/table.hpp"

namespace flotilla::cpu_driver {
struct flotilla_cpu_driver_control;
}

namespace flotilla::driver {

struct opened {
  std::shared_ptr<table const> api;  // null: none; then `text` says why
  std::string text;                  // which driver and version, or why there is none
  int devices = 0;                   // how many it counts
};

/// The driver of GPUs: `libcuda.so.1`, or the file that the environment's FLOTILLA_LIBCUDA names.
/// Told apart: the file is missing; it is the toolkit's stub; it is flotilla's own drop-in, whose devices
/// are no GPUs; it is too old; it has no device.
/// Blocks for cuInit at the first call. Threads: any.
[[nodiscard]] opened const& gpu_driver();

/// The driver of CPU devices: the drop-in where the process would use that as its libcuda, so that the
/// application's own driver calls and flotilla's meet in one driver; else the copy built in.
[[nodiscard]] opened const& cpu_driver();

/// What the CPU driver lets tests and injection do, of the copy that `cpu_driver()` gives.
[[nodiscard]] cpu_driver::flotilla_cpu_driver_control const& cpu_control();

}  // namespace flotilla::driver
