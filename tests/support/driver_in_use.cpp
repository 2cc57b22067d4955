// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/driver_in_use.hpp"

#include <stdexcept>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"
#include "support/devices.hpp"

namespace flotilla::test {

driver::table const& driver_in_use() {
  auto const& opened = on_gpus() ? driver::gpu_driver() : driver::cpu_driver();
  if (!opened.api) {
    throw std::runtime_error{"the driver under test cannot be used: " + opened.text};
  }
  return *opened.api;
}

CUcontext current_context() {
  CUcontext current{};
  if (driver_in_use().ctx_get_current(&current) != CUDA_SUCCESS) {
    throw std::runtime_error{"cuCtxGetCurrent failed"};
  }
  return current;
}

std::size_t stack_depth() {
  if (on_gpus()) { return current_context() != nullptr ? 1 : 0; }
  return driver::cpu_control().stack_depth();
}

std::size_t live_handles() {
  if (on_gpus()) { return 0; }
  cpu_driver::live_counts const open = driver::cpu_control().live_handles();
  return open.contexts + open.streams + open.events + open.allocations + open.modules +
         open.libraries;
}

}  // namespace flotilla::test
