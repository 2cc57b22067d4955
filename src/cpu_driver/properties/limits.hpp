#pragma once
// A context's limits, with an H200's defaults and an H200's rules for changing them.

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace flotilla::cpu_driver {

class limits {
 public:
  limits() noexcept;

  /// `which` is a CUlimit; any other number is refused.
  [[nodiscard]] CUresult get(int which, std::size_t& value) const noexcept;
  /// `memory` is the device's memory in bytes, which no buffer can exceed.
  [[nodiscard]] CUresult set(int which, std::size_t value, std::size_t memory) noexcept;

  /// Whether the limit can no longer change once a kernel has used what it limits.
  [[nodiscard]] static bool settled_by_kernels(int which) noexcept {
    return which == CU_LIMIT_MALLOC_HEAP_SIZE || which == CU_LIMIT_PRINTF_FIFO_SIZE;
  }

  [[nodiscard]] std::size_t stack_bytes() const noexcept { return read(CU_LIMIT_STACK_SIZE); }
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return read(CU_LIMIT_MALLOC_HEAP_SIZE); }
  [[nodiscard]] std::size_t fifo_bytes() const noexcept { return read(CU_LIMIT_PRINTF_FIFO_SIZE); }

  /// A kernel has used malloc or printf: the size of the heap or of the buffer is now final.
  void settle_heap() noexcept { settle(heap_settled_); }
  void settle_fifo() noexcept { settle(fifo_settled_); }

  static constexpr std::size_t persisting_granule = 3932160;              // bytes
  static constexpr std::size_t max_persisting = 10 * persisting_granule;  // bytes

 private:
  [[nodiscard]] std::size_t read(int which) const noexcept;
  void settle(std::atomic<bool>& which) noexcept;

  // Read without a lock by every launch; written with mutex_ held.
  std::array<std::atomic<std::size_t>, CU_LIMIT_MAX> values_{};
  std::mutex mutex_;
  std::atomic<bool> heap_settled_{false};
  std::atomic<bool> fifo_settled_{false};
};

}  // namespace flotilla::cpu_driver
