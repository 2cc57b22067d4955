// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory pool of one device: the pool from which cuMemAllocAsync allocates.

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "cpu_driver/base/environment.hpp"

namespace flotilla::cpu_driver {

/// Stores which devices may access the allocations of the pool. As on GPUs, the access of contexts
/// (peer_set) has no effect on pools. Threads: any.
class memory_pool {
 public:
  explicit memory_pool(int home) noexcept : home_(home) {
    flags_[static_cast<std::size_t>(home)].store(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  memory_pool(memory_pool const&) = delete;
  memory_pool& operator=(memory_pool const&) = delete;

  [[nodiscard]] CUmemoryPool handle() noexcept { return reinterpret_cast<CUmemoryPool>(this); }
  /// The device to which the memory belongs.
  [[nodiscard]] int home() const noexcept { return home_; }
  /// @param device  Between 0 and max_devices - 1.
  [[nodiscard]] CUmemAccess_flags access_of(int device) const noexcept {
    return flags_[static_cast<std::size_t>(device)].load(std::memory_order_relaxed);
  }
  void set_access(int device, CUmemAccess_flags flags) noexcept {
    flags_[static_cast<std::size_t>(device)].store(flags, std::memory_order_relaxed);
  }

 private:
  int const home_;
  std::array<std::atomic<CUmemAccess_flags>, max_devices> flags_{};  // by device; at first: none
};

}  // namespace flotilla::cpu_driver
