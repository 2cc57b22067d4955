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

void raise(CUresult status, int device) noexcept {
  auto const index = static_cast<std::size_t>(device);
  if ((detail::confined.load(std::memory_order_relaxed) >> index & 1) == 0) {
    return raise(status);
  }
  CUresult healthy = CUDA_SUCCESS;
  // release: pairs with the acquire in status()
  if (detail::word_of_device[index].compare_exchange_strong(
          healthy, status, std::memory_order_release, std::memory_order_relaxed)) {
    wake_all();
  }
}

void confine(int device, bool on) noexcept {
  std::uint64_t const bit = std::uint64_t{1} << device;
  if (on) {
    detail::confined.fetch_or(bit, std::memory_order_relaxed);
  } else {
    detail::confined.fetch_and(~bit, std::memory_order_relaxed);
  }
}

void reset(int device) noexcept {
  detail::word_of_device[static_cast<std::size_t>(device)].store(CUDA_SUCCESS,
                                                                 std::memory_order_release);
}

void reset() noexcept { detail::word.store(CUDA_SUCCESS, std::memory_order_release); }

}  // namespace flotilla::cpu_driver::fault
