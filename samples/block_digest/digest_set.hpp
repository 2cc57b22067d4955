// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A set of digests.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "digest.hpp"

namespace block_digest {

/// A hash table of numbers of digests. A set with an allocation for each digest would be slower
/// than a GPU, and so would a table of digests, because it is large and grows. Memory: about 60
/// bytes for each digest.
class digest_set {
 public:
  digest_set() : slots_(first_slots) {}

  /// Adds a digest. @return False if it was in the set.
  bool insert(digest const& value);
  /// Fetches the memory that insert() will need for this digest into the cache.
  void prefetch(digest const& value) const noexcept { __builtin_prefetch(&slots_[start(value)]); }
  [[nodiscard]] std::size_t size() const noexcept { return digests_.size(); }

 private:
  static constexpr std::size_t first_slots = 1024;  // a power of two
  // A slot is 0 if it is empty. Otherwise it has the first bits of the hash, so that different
  // digests are rarely compared, and 1 + the index of the digest.
  using slot = std::uint64_t;
  static constexpr int index_bits = 40;
  static constexpr slot index_mask = (slot{1} << index_bits) - 1;

  [[nodiscard]] static std::uint64_t hash(digest const& value) noexcept;
  [[nodiscard]] std::size_t start(digest const& value) const noexcept {
    return hash(value) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t after(std::size_t at) const noexcept {
    return (at + 1) & (slots_.size() - 1);
  }
  void grow();

  std::deque<digest> digests_;
  std::vector<slot> slots_;  // at least half of them are empty
};

}  // namespace block_digest
