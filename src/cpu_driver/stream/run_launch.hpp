// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a launch on the device thread, including injected delays and faults.

#include <cuda.h>

#include "cpu_driver/stream/launch_site.hpp"
#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Runs the whole grid. Returns CUDA_ERROR_LAUNCH_FAILED after a trap and CUDA_ERROR_ASSERT after a
/// failed assertion.
[[nodiscard]] CUresult run_launch(launch_kernel& launch, launch_site const& site) noexcept;

}  // namespace flotilla::cpu_driver
