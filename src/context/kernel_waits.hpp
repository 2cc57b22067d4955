// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether kernels of a device may wait for another device.

#include <cstdlib>
#include <string_view>

#include <flotilla/settings/settings.hpp>

namespace flotilla::context {

/// Returns whether the environment variable CUDA_LAUNCH_BLOCKING makes the driver run each launch
/// before the call returns (CUDA programming guide, "Asynchronous concurrent execution").
[[nodiscard]] inline bool launches_block() noexcept {
  char const* const text = std::getenv("CUDA_LAUNCH_BLOCKING");
  return text != nullptr && *text != '\0' && std::string_view{text} != "0";
}

/// Returns whether kernels of a device with these settings may wait for a kernel that is launched
/// later on another device. If launches block, the later kernel would never be launched.
[[nodiscard]] inline bool kernels_may_wait(device_settings const& asked) noexcept {
  return asked.device_side_waits.value_or(true) && !launches_block();
}

}  // namespace flotilla::context
