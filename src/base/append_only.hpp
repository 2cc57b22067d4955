// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A list that can grow while other threads read it.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace flotilla::base {

/// Threads: any. Entries are never moved and never removed. `add` takes a lock; `[]` takes no lock.
template <class T, std::size_t ChunkSize = 64, std::size_t Chunks = 1024>
class append_only {
 public:
  append_only() = default;
  ~append_only() {
    // Relaxed, because no other thread may use the list any more.
    for (auto& chunk : chunks_) { delete[] chunk.load(std::memory_order_relaxed); }
  }
  append_only(append_only const&) = delete;
  append_only& operator=(append_only const&) = delete;

  /// Adds an entry and calls `fill(entry)`. Other threads see the entry only after `fill` has
  /// returned.
  /// @return The index of the entry.
  template <class Fill>
  std::size_t add(Fill&& fill) {
    std::lock_guard const lock{mutex_};
    std::size_t const index = size_.load(std::memory_order_relaxed);
    if (index == ChunkSize * Chunks) {
      throw std::length_error("flotilla: an internal list is full and cannot take another entry");
    }
    auto& chunk = chunks_[index / ChunkSize];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(new T[ChunkSize], std::memory_order_release);  // pairs with the acquire in []
    }
    fill(chunk.load(std::memory_order_relaxed)[index % ChunkSize]);
    size_.store(index + 1, std::memory_order_release);  // pairs with the acquire in size
    return index;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  /// Returns an entry. `index` must be a result of `add`.
  [[nodiscard]] T& operator[](std::size_t index) const noexcept {
    return chunks_[index / ChunkSize].load(std::memory_order_acquire)[index % ChunkSize];
  }

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> size_{0};
  std::array<std::atomic<T*>, Chunks> chunks_{};
};

}  // namespace flotilla::base
