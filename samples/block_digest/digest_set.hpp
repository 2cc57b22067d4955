// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A set of digests.

#include <cstddef>
#include <vector>

#include "digest.hpp"

namespace block_digest {

/// A hash table in one array, because a set with an allocation for each digest would be slower than
/// a GPU. Memory: 64 to 128 bytes for each digest.
class digest_set {
 public:
  digest_set() : slots_(first_slots) {}

  /// Adds a digest. @return False if it was in the set.
  bool insert(digest const& value);
  /// Fetches the memory that insert() will need for this digest into the cache.
  void prefetch(digest const& value) const noexcept { __builtin_prefetch(&slots_[slot_of(value)]); }
  [[nodiscard]] std::size_t size() const noexcept { return used_ + (has_zero_ ? 1 : 0); }

 private:
  static constexpr std::size_t first_slots = 1024;  // a power of two
  [[nodiscard]] std::size_t slot_of(digest const& value) const noexcept {
    return std::hash<digest>{}(value) & (slots_.size() - 1);
  }
  [[nodiscard]] digest& find(digest const& value) noexcept;
  void grow();

  std::vector<digest> slots_;  // a slot of zeros is empty
  std::size_t used_ = 0;       // slots that are not empty; at most half of them
  bool has_zero_ = false;      // whether the digest of zeros is in the set
};

}  // namespace block_digest
