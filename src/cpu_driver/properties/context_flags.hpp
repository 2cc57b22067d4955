// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flags of a context. Most flags can change during the context's lifetime.

#include <cuda.h>

#include <atomic>

#include "cpu_driver/base/latch.hpp"

namespace flotilla::cpu_driver {

/// Thread-safe. All accesses are relaxed: the flags are one number, and no other memory depends on
/// this number.
class context_flags {
 public:
  explicit context_flags(unsigned flags) noexcept : flags_(flags) {}

  /// Whether `flags` are valid for a context.
  [[nodiscard]] static bool valid(unsigned flags) noexcept;

  [[nodiscard]] unsigned get() const noexcept { return flags_.load(std::memory_order_relaxed); }
  /// Sets all flags except CU_CTX_MAP_HOST, which is fixed when a context is created.
  void set(unsigned flags) noexcept;
  /// How long a thread spins and yields while it waits for work of the context. The scheduling flag
  /// determines the times.
  [[nodiscard]] spin_times spin() const noexcept;

 private:
  std::atomic<unsigned> flags_;
};

}  // namespace flotilla::cpu_driver
