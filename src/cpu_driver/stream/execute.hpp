#pragma once
// What operations do when their turn comes, on the device's thread.

#include <cuda.h>

#include "cpu_driver/operation.hpp"

namespace flotilla::cpu_driver {

class context;
class device;

/// Runs one operation. Anything but CUDA_SUCCESS is a sticky fault.
[[nodiscard]] CUresult perform(operation& todo, context& owner, device& home) noexcept;

void perform_fill(fill_memory const& todo) noexcept;
void perform_write(write_value const& todo) noexcept;
void perform_call(call_host const& todo) noexcept;

/// Ends one that will never run. What others wait for is released, what it would free is freed.
void drop(operation& todo) noexcept;

/// Whether the waited-for value is there. What was written before it is then visible.
[[nodiscard]] bool satisfied(wait_value const& wanted) noexcept;

/// Whether the calling thread is inside a host function of a stream, where no driver call is
/// permitted.
[[nodiscard]] bool in_host_function() noexcept;

}  // namespace flotilla::cpu_driver
