#pragma once
// The sticky fault. After a kernel has trapped, every context of the process answers the same
// error, as with a GPU's driver. It is one word, which nearly every entry point reads.

#include <cuda.h>

#include <atomic>

namespace flotilla::cpu_driver::fault {

namespace detail {
inline std::atomic<CUresult> word{CUDA_SUCCESS};
}

/// CUDA_SUCCESS, or the error of the first fault. acquire: pairs with the release in raise(), so a
/// thread that sees a fault also sees everything that happened before it.
[[nodiscard]] inline CUresult status() noexcept {
  return detail::word.load(std::memory_order_acquire);
}

/// Poisons the driver and wakes every device, which then abandons its pending operations. Does
/// nothing after the first fault.
void raise(CUresult status) noexcept;

/// For tests: removes the fault. Valid only while no context lives.
void reset() noexcept;

}  // namespace flotilla::cpu_driver::fault
