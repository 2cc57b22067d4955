// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/fault/fault.hpp"

#include "cpu_driver/base/wake_all.hpp"

namespace flotilla::cpu_driver::fault {

void raise(CUresult status) noexcept {
  CUresult healthy = CUDA_SUCCESS;
  // release: pairs with the acquire in status()
  if (!detail::word.compare_exchange_strong(healthy, status, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    return;
  }
  wake_all();
}

void reset() noexcept { detail::word.store(CUDA_SUCCESS, std::memory_order_release); }

}  // namespace flotilla::cpu_driver::fault
