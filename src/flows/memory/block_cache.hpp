// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that a flow has allocated and uses again.

#include <bit>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// The free blocks of one place. Allocating device memory needs the context of the device, so the
/// flow keeps blocks whose data are gone. Threads: the caller holds the flow's mutex.
class block_cache {
 public:
  /// Returns the size of the block for data of this size: at most an eighth larger, so that blocks
  /// of similar sizes can be used again.
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    std::size_t const unit = std::max<std::size_t>(512, std::bit_ceil(bytes) / 16);
    return (bytes + unit - 1) / unit * unit;
  }
  /// Returns a free block for data of this size; without memory if there is none.
  [[nodiscard]] block take(std::size_t bytes) {
    auto const found = free_.find(rounded(bytes));
    if (found == free_.end() || found->second.empty()) { return {}; }
    block taken = std::move(found->second.back());
    found->second.pop_back();
    cached_ -= rounded(bytes);
    return taken;
  }
  void put(std::size_t bytes, block&& unused) {
    free_[rounded(bytes)].push_back(std::move(unused));
    cached_ += rounded(bytes);
  }
  /// Moves free blocks to `to` until they have at least `wanted` bytes together, or none are left.
  void remove(std::size_t wanted, std::vector<block>& to) {
    std::size_t removed = 0;
    for (auto& [size, blocks] : free_) {
      while (removed < wanted && !blocks.empty()) {
        to.push_back(std::move(blocks.back()));
        blocks.pop_back();
        removed += size;
        cached_ -= size;
      }
    }
  }
  /// Returns the number of bytes in free blocks.
  [[nodiscard]] std::size_t cached() const noexcept { return cached_; }

 private:
  std::unordered_map<std::size_t, std::vector<block>> free_;  // by rounded size
  std::size_t cached_ = 0;
};

}  // namespace flotilla::flows
