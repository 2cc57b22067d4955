// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/device/driver_report.hpp>

#include "context/description.hpp"
#include "driver/library.hpp"

namespace flotilla {
inline namespace v0_1 {

driver_report describe_drivers() {
  driver::opened const& gpu = driver::gpu_driver();
  driver::opened const& cpu = driver::cpu_driver();
  driver_report made;
  made.gpus = gpu.api != nullptr;
  made.gpu_text = gpu.text;
  made.cpu_text = cpu.text;
  made.devices = made.gpus ? context::describe_all(*gpu.api, gpu.devices)
                           : context::describe_all(*cpu.api, cpu.devices);
  return made;
}

}  // namespace v0_1
}  // namespace flotilla
