#pragma once
// The sticky fault. A kernel that traps makes every context of the process answer the same error,
// as the real driver does. One word, read at nearly every entry.

#include <cuda.h>

#include <atomic>

namespace flotilla::cpu_driver::fault {

namespace detail {
inline std::atomic<CUresult> word{CUDA_SUCCESS};
}

/// CUDA_SUCCESS, or the error of the first fault. acquire: pairs with the release in raise(), so
/// that who sees a fault also sees what came before it.
[[nodiscard]] inline CUresult status() noexcept {
  return detail::word.load(std::memory_order_acquire);
}

/// Poisons the driver and wakes every device so that it drops what it still has. The first fault
/// stays.
void raise(CUresult status) noexcept;

/// For tests: healthy again. Valid only while no context lives.
void reset() noexcept;

}  // namespace flotilla::cpu_driver::fault
