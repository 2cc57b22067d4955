#pragma once
// Counts what is alive without a line that all threads write, and tells who was last.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"

namespace flotilla::base {

/// A count of references taken by many threads at once. Each takes and drops on a shard of its own, so a
/// flood of both costs no shared line. One may be dropped on another shard than it was taken on, and even before it is
/// taken: only the sum counts. Zero is not looked for until `close`: from then on no
/// more are taken, and the one drop, or the `close` itself, that leaves none says so.
///
/// `close` folds each shard: it exchanges the shard's count for `folded` and adds the count to `rest_`. A
/// drop that meets a folded shard takes one from `rest_` instead. Each reference is so counted down exactly
/// once, either in its shard before the exchange or in `rest_` after it. Such drops can run ahead of
/// `close`'s adding, so `close` holds more references of its own in `rest_` than there can be others, until
/// it has folded all: no drop can be the last before.
class sharded_count {
 public:
  static constexpr std::uint32_t shards = 32;

  void take(std::uint32_t at, std::int64_t references = 1) noexcept {
    shards_[at % shards].count.fetch_add(references, std::memory_order_relaxed);  // the taker holds the owner alive
  }

  /// @return whether this was the last, after `close`.
  [[nodiscard]] bool drop(std::uint32_t at) noexcept {
    // acq_rel: whoever sees the last drop sees what was done before every other
    std::int64_t const before = shards_[at % shards].count.fetch_sub(1, std::memory_order_acq_rel);
    return before <= folded / 2 && rest_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  /// Once, when no more are taken. @return whether none is left.
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
  struct alignas(cache_line) shard { std::atomic<std::int64_t> count{0}; };
  std::array<shard, shards> shards_;
  std::atomic<std::int64_t> rest_{closing};
};

}  // namespace flotilla::base
