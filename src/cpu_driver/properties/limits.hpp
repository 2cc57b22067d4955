// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limits of a context. The defaults and the rules for changes are those of an H200.

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace flotilla::cpu_driver {

class limits {
 public:
  limits() noexcept;

  /// Reads the limit `which`. Returns an error if `which` is not a CUlimit.
  [[nodiscard]] CUresult get(int which, std::size_t& value) const noexcept;
  /// Sets the limit `which`. `memory` is the size of the device's memory in bytes. Neither the heap
  /// nor the printf buffer can be larger than this size.
  [[nodiscard]] CUresult set(int which, std::size_t value, std::size_t memory) noexcept;

  /// Whether the limit becomes final when a kernel first uses malloc or printf.
  [[nodiscard]] static bool settled_by_kernels(int which) noexcept {
    return which == CU_LIMIT_MALLOC_HEAP_SIZE || which == CU_LIMIT_PRINTF_FIFO_SIZE;
  }

  [[nodiscard]] std::size_t stack_bytes() const noexcept { return read(CU_LIMIT_STACK_SIZE); }
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return read(CU_LIMIT_MALLOC_HEAP_SIZE); }
  [[nodiscard]] std::size_t fifo_bytes() const noexcept { return read(CU_LIMIT_PRINTF_FIFO_SIZE); }

  /// Makes the size of the heap final. Called when a kernel uses malloc or free.
  void settle_heap() noexcept { settle(heap_settled_); }
  /// Makes the size of the printf buffer final. Called when a kernel uses printf.
  void settle_fifo() noexcept { settle(fifo_settled_); }

  static constexpr std::size_t persisting_granule = 3932160;              // bytes
  static constexpr std::size_t max_persisting = 10 * persisting_granule;  // bytes

 private:
  [[nodiscard]] std::size_t read(int which) const noexcept;
  void settle(std::atomic<bool>& which) noexcept;

  // Launches read the values without a lock. set() holds mutex_ while it writes a value.
  std::array<std::atomic<std::size_t>, CU_LIMIT_MAX> values_{};
  std::mutex mutex_;
  std::atomic<bool> heap_settled_{false};
  std::atomic<bool> fifo_settled_{false};
};

}  // namespace flotilla::cpu_driver
