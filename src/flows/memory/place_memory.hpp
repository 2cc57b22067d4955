// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that a flow has at one place.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "flows/data/datum.hpp"
#include "flows/memory/block_cache.hpp"
#include "flows/memory/resident_ring.hpp"

namespace flotilla::flows {

/// When to copy data that may be evicted soon to the host (flow_options).
struct watermarks {
  double low = 1;  // fractions of the limit
  double high = 1;
};

/// All blocks that the flow has allocated at a place: blocks of data (the residents), free blocks,
/// and blocks that are given up. Threads: the caller holds the flow's mutex.
class place_memory {
 public:
  /// @param limit     The number of bytes that the flow may have at the place.
  /// @param capacity  The number of bytes that the place has.
  place_memory(place where, std::size_t limit, std::size_t capacity,
               watermarks const& marks) noexcept
      : residents_(where), configured_(limit), limit_(limit), capacity_(capacity), marks_(marks) {}

  [[nodiscard]] resident_ring& residents() noexcept { return residents_; }
  /// Returns the number of bytes that the flow has at the place.
  [[nodiscard]] std::size_t allocated() const noexcept { return in_use_ + free_.cached(); }
  /// Returns the number of bytes in blocks of data.
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Returns how many bytes of data are above the low watermark; 0 if the data do not take more
  /// than the high watermark.
  [[nodiscard]] double bytes_to_copy() const noexcept {
    double const used = static_cast<double>(in_use_);
    return used > marks_.high * room() ? used - marks_.low * room() : 0;
  }
  /// Returns how many bytes of a full place are above the low watermark.
  [[nodiscard]] double bytes_to_copy_if_full() const noexcept { return (1 - marks_.low) * room(); }
  /// Returns the limit without `set_full`.
  [[nodiscard]] std::size_t configured_limit() const noexcept { return configured_; }
  /// Returns whether a new block for data of this size is within the limit.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept { return excess(bytes) == 0; }
  /// Gives up free blocks if this makes room for a new block. @return whether there is room.
  bool make_room_from_free_blocks(std::size_t bytes) {
    std::size_t const wanted = excess(bytes);
    if (wanted > free_.cached()) { return false; }
    free_.remove(wanted, given_up_);
    return true;
  }

  /// Adds a new block. It is free.
  void add(std::size_t bytes, block&& made) { free_.put(bytes, std::move(made)); }
  /// Returns a free block for data of this size; without memory if there is none.
  [[nodiscard]] block take(std::size_t bytes) {
    block taken = free_.take(bytes);
    if (taken.exists()) { in_use_ += block_cache::rounded(bytes); }
    return taken;
  }
  /// Takes back a block of data of this size. If this throws, the block is freed with the argument.
  void put(std::size_t bytes, block&& unused) {
    forget(bytes);
    free_.put(bytes, std::move(unused));
  }
  /// A block of data of this size is freed by somebody else.
  void forget(std::size_t bytes) noexcept { in_use_ -= block_cache::rounded(bytes); }
  /// Gives up all free blocks.
  void give_up_all() { free_.remove(free_.cached(), given_up_); }
  /// Returns the blocks that were given up. The caller destroys them without holding the mutex.
  [[nodiscard]] std::vector<block> take_given_up() noexcept { return std::exchange(given_up_, {}); }

  /// The place has no memory left: the bytes that the flow has become its limit.
  void set_full() noexcept { limit_ = std::min(limit_, allocated()); }
  /// Restores the configured limit.
  void lift_full() noexcept { limit_ = configured_; }

 private:
  /// Returns by how many bytes a new block would exceed the limit.
  [[nodiscard]] std::size_t excess(std::size_t bytes) const noexcept {
    std::size_t const size = block_cache::rounded(bytes);
    std::size_t const left = limit_ - std::min(limit_, allocated());
    return size > left ? allocated() + size - limit_ : 0;
  }

  [[nodiscard]] double room() const noexcept {
    return static_cast<double>(std::min(limit_, capacity_));
  }

  resident_ring residents_;
  block_cache free_;
  std::vector<block> given_up_;
  std::size_t in_use_ = 0;  // bytes of the blocks of data
  std::size_t const configured_;
  std::size_t limit_;
  std::size_t const capacity_;
  watermarks const marks_;
};

}  // namespace flotilla::flows
