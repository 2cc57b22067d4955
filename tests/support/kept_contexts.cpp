// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/kept_contexts.hpp"

#include <stdexcept>
#include <string>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

bool retain_all() {
  auto const& api = driver_in_use();
  for (int device = 0; device < devices_there(); ++device) {
    CUcontext kept{};
    if (CUresult const status = api.device_primary_ctx_retain(&kept, device);
        status != CUDA_SUCCESS) {
      throw std::runtime_error{"cuDevicePrimaryCtxRetain failed on device " +
                               std::to_string(device) + ": " +
                               std::to_string(static_cast<int>(status))};
    }
  }
  return true;
}

}  // namespace

bool contexts_are_kept() {
  if (!on_gpus()) { return false; }
  static bool const kept = retain_all();
  return kept;
}

}  // namespace flotilla::test
