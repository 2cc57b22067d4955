// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sticky fault. After a kernel has trapped, calls in every context of the process return the
// same error, as with a GPU's driver. The fault is a single word, which nearly every entry point
// reads.

#include <cuda.h>

#include <atomic>

namespace flotilla::cpu_driver::fault {

namespace detail {
inline std::atomic<CUresult> word{CUDA_SUCCESS};
}

/// Returns the status of the first fault, or CUDA_SUCCESS if there was no fault. acquire: pairs
/// with the release in raise(), so a thread that sees a fault also sees everything that happened
/// before the fault.
[[nodiscard]] inline CUresult status() noexcept {
  return detail::word.load(std::memory_order_acquire);
}

/// Poisons the driver and wakes every device. Each device then abandons its pending operations.
/// Does nothing if the driver is already poisoned.
void raise(CUresult status) noexcept;

/// Removes the fault. For tests only. The caller must ensure that no context exists.
void reset() noexcept;

}  // namespace flotilla::cpu_driver::fault
