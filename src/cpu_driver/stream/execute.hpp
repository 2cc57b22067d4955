#pragma once
// Executes operations, on the device's thread.

#include <cuda.h>

#include "cpu_driver/stream/launch_site.hpp"
#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Runs one operation. Any status but CUDA_SUCCESS is a sticky fault.
[[nodiscard]] CUresult execute(operation& head, launch_site const& site) noexcept;

void execute_fill(fill_memory const& fill) noexcept;
void execute_write(write_value const& write) noexcept;
void execute_call(call_host const& call) noexcept;

/// Ends an operation that will never run: releases whoever waits for it, and frees what it would
/// have freed.
void abandon(operation& dropped) noexcept;

/// Whether the awaited value is there. If so, everything written before it is visible.
[[nodiscard]] bool satisfied(wait_value const& wait) noexcept;

/// Whether the calling thread is inside a host function of a stream, which may not call the driver.
[[nodiscard]] bool in_host_function() noexcept;

}  // namespace flotilla::cpu_driver
