#pragma once
// A reference count without a cache line that all threads write. It detects the last reference.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"

namespace flotilla::base {

/// Counts references that many threads take and drop at once. Each thread uses a shard of its own,
/// so that no cache line is shared. A reference may be dropped on another shard than it was taken
/// on, and even before it is taken: only the sum counts. Zero is detected only after `close`, when
/// no more references are taken: then the drop that removes the last reference, or `close` itself,
/// returns true.
///
/// `close` folds each shard: it exchanges the shard's count for `folded` and adds the count to
/// `rest_`. A drop on a folded shard decrements `rest_` instead. So each reference is counted down
/// exactly once, in its shard before the exchange or in `rest_` after it. Such drops can run ahead
/// of the additions of `close`. Therefore `close` holds more references of its own in `rest_` than
/// others can exist, until it has folded all shards: before that no drop can be the last.
class sharded_count {
 public:
  static constexpr std::uint32_t shards = 32;

  void take(std::uint32_t at, std::int64_t references = 1) noexcept {
    shards_[at % shards].count.fetch_add(
        references, std::memory_order_relaxed);  // the taker keeps the owner alive
  }

  /// @return whether this was the last reference after `close`.
  [[nodiscard]] bool drop(std::uint32_t at) noexcept {
    // acq_rel: the thread of the last drop sees everything that happened before all other drops
    std::int64_t const before = shards_[at % shards].count.fetch_sub(1, std::memory_order_acq_rel);
    return before <= folded / 2 && rest_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// Call it once, when no more references are taken. @return whether none is left.
  [[nodiscard]] bool close() noexcept {
    for (shard& each : shards_) {
      std::int64_t const counted = each.count.exchange(folded, std::memory_order_acq_rel);
      rest_.fetch_add(counted, std::memory_order_acq_rel);
    }
    return rest_.fetch_sub(closing, std::memory_order_acq_rel) == closing;
  }

 private:
  static constexpr std::int64_t folded = INT64_MIN / 2;
  static constexpr std::int64_t closing = INT64_MAX / 4;  // the references of `close`
  struct alignas(cache_line) shard {
    std::atomic<std::int64_t> count{0};
  };
  std::array<shard, shards> shards_;
  std::atomic<std::int64_t> rest_{closing};
};

}  // namespace flotilla::base
