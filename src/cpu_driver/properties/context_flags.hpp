#pragma once
// The flags of a context, which can change while it lives.

#include <cuda.h>

#include <atomic>

#include "cpu_driver/base/latch.hpp"

namespace flotilla::cpu_driver {

/// Threads: any. The flags are one number that orders no other memory, so relaxed suffices.
class context_flags {
 public:
  explicit context_flags(unsigned flags) noexcept : flags_(flags) {}

  /// Whether a context may be created with these flags, or get them later.
  [[nodiscard]] static bool valid(unsigned flags) noexcept;

  [[nodiscard]] unsigned get() const noexcept { return flags_.load(std::memory_order_relaxed); }
  /// Changes every flag but CU_CTX_MAP_HOST, which is fixed when a context is created.
  void set(unsigned flags) noexcept;
  /// How threads wait for the work of the context, as its scheduling flag asks.
  [[nodiscard]] spin_times spin() const noexcept;

 private:
  std::atomic<unsigned> flags_;
};

}  // namespace flotilla::cpu_driver
