#pragma once
// One launch on the device's thread: argument addresses, services, injected slowness and faults.

#include <cuda.h>

#include "cpu_driver/operation.hpp"

namespace flotilla::cpu_driver {

class context;
class device;

/// Runs the whole grid. CUDA_ERROR_LAUNCH_FAILED after a trap, CUDA_ERROR_ASSERT after a failed
/// assertion.
[[nodiscard]] CUresult run_launch(launch_kernel& todo, context& owner, device& home) noexcept;

}  // namespace flotilla::cpu_driver
