// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The slot_side objects of a window.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/mapped_memory.hpp"
#include "dispatch/task/slot_side.hpp"

namespace flotilla::dispatch {

/// Constructs the objects in blocks of 32, each block at the first use of one of its objects. Most
/// applications use few of the objects, and all of them together would be several MB per device.
class slot_sides {
 public:
  /// @throws std::bad_alloc
  explicit slot_sides(std::size_t window);
  ~slot_sides();
  slot_sides(slot_sides const&) = delete;
  slot_sides& operator=(slot_sides const&) = delete;

  /// Threads: any. Cost: two loads, except for the first use of a block.
  [[nodiscard]] slot_side& operator[](std::uint32_t index) noexcept {
    // acquire: pairs with the release in construct
    if (!constructed_[index / block].load(std::memory_order_acquire)) [[unlikely]] {
      construct(index / block);
    }
    return sides_[index];
  }

 private:
  static constexpr std::uint32_t block = 32;

  /// Constructs the objects of the block, unless another thread has done so.
  void construct(std::size_t which) noexcept;

  std::size_t blocks_;
  base::mapped_memory memory_;  // of `sides_`, and then of `constructed_`
  slot_side* sides_;
  std::atomic<bool>* constructed_;
  std::mutex construction_;
};

}  // namespace flotilla::dispatch
