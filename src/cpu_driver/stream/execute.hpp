// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes operations on the device thread.

#include <cuda.h>

#include "cpu_driver/stream/launch_site.hpp"
#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Runs one operation. Any result except CUDA_SUCCESS is a sticky fault.
[[nodiscard]] CUresult execute(operation& head, launch_site const& site) noexcept;

void execute_fill(fill_memory const& fill) noexcept;
/// @param device  The device of the stream.
void execute_write(write_value const& write, int device) noexcept;
void execute_call(call_host const& call) noexcept;

/// Ends an operation that will never run. Releases the threads that wait for an event record of
/// this operation. Frees the memory that the operation would have freed. Ends the stream_task that
/// the operation would have run.
void abandon(operation& dropped) noexcept;

/// Whether the condition of the wait holds. If the result is true, the caller sees all writes that
/// happened before the write of the awaited value.
[[nodiscard]] bool satisfied(wait_value const& wait) noexcept;

/// Whether the calling thread is inside a host function of a stream. Host functions must not call
/// the driver.
[[nodiscard]] bool in_host_function() noexcept;

}  // namespace flotilla::cpu_driver
