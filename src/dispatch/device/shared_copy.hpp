// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A copy of host memory that several threads share.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cache_line.hpp"
#include "base/streaming_copy.hpp"
#include "dispatch/device/host_rows.hpp"

namespace flotilla::dispatch {

/// A copy from host memory to host memory, divided into steps. The *owner*, which is the holder of
/// a device's lease, begins one copy after another. Any thread may claim a step and copy it. The
/// owner takes part, and waits for no thread that has claimed nothing.
///
/// One word holds the number of the copy and of its steps that nobody has claimed. A thread reads
/// the word, then the addresses, and then decrements the word, if it is still the same. So a thread
/// that has read the addresses of an earlier copy claims no step of a later one. The owner begins
/// the next copy only when all claimed steps are done, so it overwrites no address that a thread
/// with a claim has read (tests/unit/dispatch/device/shared_copy_model_test.cpp).
class alignas(base::cache_line) shared_copy {
 public:
  // A step takes some microseconds. Between two steps, the owner looks whether other work has
  // arrived. With smaller steps, the threads would contend for the word.
  static constexpr std::size_t step_bytes = std::size_t{1} << 13;

  // ---- the owner ----

  /// Begins a copy. The copy before must be finished. The memory must exist until this one is.
  /// @param rows     If one side has rows, `to` or `from` of this side is not used.
  /// @param streams  Whether to write past the caches. Not with rows.
  void begin(std::byte* to, std::byte const* from, std::size_t bytes, row_part const& rows = {},
             bool streams = false) noexcept {
    std::uint64_t const steps = steps_of(bytes);
    // relaxed: the release below publishes them
    to_.store(to, std::memory_order_relaxed);
    from_.store(from, std::memory_order_relaxed);
    bytes_.store(bytes, std::memory_order_relaxed);
    rows_ = rows;
    streams_ = streams;
    unfinished_.store(steps, std::memory_order_relaxed);
    // release: pairs with the acquire in copy_step
    unclaimed_.store(++number_ << step_bits | steps, std::memory_order_release);
  }
  /// Returns whether all steps are done.
  [[nodiscard]] bool is_finished() const noexcept {
    // acquire: pairs with the release in copy_step, so the owner sees the copied bytes
    return unfinished_.load(std::memory_order_acquire) == 0;
  }
  /// Claims all steps that are left, and copies none of them. Other threads may still copy steps
  /// that they have claimed, until `is_finished`.
  void abandon() noexcept {
    std::uint64_t const before = unclaimed_.exchange(number_ << step_bits);
    unfinished_.fetch_sub(before & step_mask, std::memory_order_release);
  }

  // ---- any thread ----

  /// Claims one step and copies it. @return false if no step is left to claim. Cost: one load in
  /// this case.
  bool copy_step() noexcept {
    // acquire: pairs with the release in `begin`. The decrements of other threads continue the
    // release sequence of that store.
    std::uint64_t word = unclaimed_.load(std::memory_order_acquire);
    while ((word & step_mask) != 0) {
      std::byte* const to = to_.load(std::memory_order_relaxed);
      std::byte const* const from = from_.load(std::memory_order_relaxed);
      std::size_t const bytes = bytes_.load(std::memory_order_relaxed);
      // acquire if it fails: the word may be of the next copy
      if (!unclaimed_.compare_exchange_weak(word, word - 1, std::memory_order_acquire)) {
        continue;
      }
      std::size_t const at = (steps_of(bytes) - (word & step_mask)) * step_bytes;
      copy(to, from, at, std::min(step_bytes, bytes - at));
      unfinished_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in is_finished
      return true;
    }
    return false;
  }

 private:
  /// Copies a claimed step.
  void copy(std::byte* to, std::byte const* from, std::size_t at, std::size_t bytes) noexcept {
    switch (rows_.side) {
      case rows_side::none:
        if (streams_) {
          base::streaming_copy(to + at, from + at, bytes);
        } else {
          std::memcpy(to + at, from + at, bytes);
        }
        break;
      case rows_side::from: rows_.rows.copy_to(to + at, rows_.offset + at, bytes); break;
      case rows_side::to: rows_.rows.copy_from(from + at, rows_.offset + at, bytes); break;
    }
  }
  [[nodiscard]] static constexpr std::uint64_t steps_of(std::size_t bytes) noexcept {
    return (bytes + step_bytes - 1) / step_bytes;
  }
  static constexpr unsigned step_bits = 16;
  static constexpr std::uint64_t step_mask = (std::uint64_t{1} << step_bits) - 1;

  std::atomic<std::uint64_t> unclaimed_{0};  // the number of the copy, and its unclaimed steps
  std::atomic<std::byte*> to_{nullptr};
  std::atomic<std::byte const*> from_{nullptr};
  std::atomic<std::size_t> bytes_{0};
  std::uint64_t number_ = 0;  // only the owner uses it
  // Only threads with a claim read these, and the owner writes them while there is no claim.
  row_part rows_{};
  bool streams_ = false;
  // On another cache line, because each thread writes it at the end of a step.
  alignas(base::cache_line) std::atomic<std::uint64_t> unfinished_{0};
};

}  // namespace flotilla::dispatch
