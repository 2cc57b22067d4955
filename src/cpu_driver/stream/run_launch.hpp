#pragma once
// One launch on the device's thread: argument addresses, services, injected slowness and faults.

#include <cuda.h>

#include "cpu_driver/stream/launch_site.hpp"
#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Runs the whole grid. CUDA_ERROR_LAUNCH_FAILED after a trap, CUDA_ERROR_ASSERT after a failed
/// assertion.
[[nodiscard]] CUresult run_launch(launch_kernel& launch, launch_site const& site) noexcept;

}  // namespace flotilla::cpu_driver
