// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A reference count that many threads can change at the same time without sharing a cache line.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"

namespace flotilla::base {

/// Counts references that many threads take and drop at the same time. Each thread uses its own
/// shard of the count. Only the sum of all shards matters: a reference may be dropped on a
/// different shard from the one on which it was taken. The drop may even happen before the take. A
/// sum of zero is detected only after `close`. No reference may be taken after `close`, and exactly
/// one call returns true: `close` itself, or the drop of the last reference.
///
/// `close` folds each shard: it replaces the shard's count by `folded` and adds the count to
/// `rest_`. A drop on a folded shard decrements `rest_`. So each drop takes effect exactly once,
/// either in the shard before the exchange or in `rest_` after it. But `rest_` could be decremented
/// to zero before `close` has added the counts of all shards. To prevent this, `rest_` starts at
/// `closing`, which is more than the number of references that can exist. After `close` has folded
/// all shards, it subtracts `closing`.
class sharded_count {
 public:
  static constexpr std::uint32_t shards = 32;

  void take(std::uint32_t at, std::int64_t references = 1) noexcept {
    // Relaxed, because the calling thread keeps the counted object alive in another way.
    shards_[at % shards].count.fetch_add(references, std::memory_order_relaxed);
  }

  /// @return Whether `close` was called and this was the last reference.
  [[nodiscard]] bool drop(std::uint32_t at) noexcept {
    // acq_rel, so that the thread of the last drop sees everything that happened before the other
    // drops.
    std::int64_t const before = shards_[at % shards].count.fetch_sub(1, std::memory_order_acq_rel);
    return before <= folded / 2 && rest_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// Must be called once, after the last `take`. @return Whether no reference is left.
  [[nodiscard]] bool close() noexcept {
    for (shard& each : shards_) {
      std::int64_t const counted = each.count.exchange(folded, std::memory_order_acq_rel);
      rest_.fetch_add(counted, std::memory_order_acq_rel);
    }
    return rest_.fetch_sub(closing, std::memory_order_acq_rel) == closing;
  }

 private:
  static constexpr std::int64_t folded = INT64_MIN / 2;
  static constexpr std::int64_t closing = INT64_MAX / 4;  // the initial value of `rest_`
  struct alignas(cache_line) shard {
    std::atomic<std::int64_t> count{0};
  };
  std::array<shard, shards> shards_;
  std::atomic<std::int64_t> rest_{closing};
};

}  // namespace flotilla::base
