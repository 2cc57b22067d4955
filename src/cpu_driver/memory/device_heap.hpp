// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The heap for malloc in kernels. Each context has one heap. The size of the heap is one of the
// context's limits.

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace flotilla::cpu_driver {

class limits;

class device_heap {
 public:
  explicit device_heap(limits& its_limits) noexcept : limits_(its_limits) {}
  ~device_heap();  // frees the allocations that kernels did not free
  device_heap(device_heap const&) = delete;
  device_heap& operator=(device_heap const&) = delete;

  /// Returns null if the allocation does not fit into the heap, if `bytes` is 0, or if the host is
  /// out of memory. Thread-safe, because the thread blocks of a grid run in parallel.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;
  /// Frees an allocation. Does nothing if `address` is not an allocation of this heap. Thread-safe.
  void release(void* address) noexcept;

 private:
  limits& limits_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> blocks_;  // maps addresses to sizes; guarded by mutex_
  std::size_t used_ = 0;                           // in bytes; guarded by mutex_
};

}  // namespace flotilla::cpu_driver
