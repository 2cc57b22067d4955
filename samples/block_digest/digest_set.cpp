// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "digest_set.hpp"

#include <cstring>

namespace block_digest {

std::uint64_t digest_set::hash(digest const& value) noexcept {
  std::uint64_t first;  // the first bytes of a digest are a good hash
  std::memcpy(&first, value.bytes.data(), sizeof first);
  return first;
}

bool digest_set::insert(digest const& value) {
  slot const tag = hash(value) & ~index_mask;
  std::size_t at = start(value);
  for (; slots_[at] != 0; at = after(at)) {
    bool const may_be_equal = (slots_[at] & ~index_mask) == tag;
    if (may_be_equal && digests_[(slots_[at] & index_mask) - 1] == value) { return false; }
  }
  digests_.push_back(value);
  slots_[at] = tag | digests_.size();
  if (2 * digests_.size() > slots_.size()) { grow(); }
  return true;
}

void digest_set::grow() {
  slots_.assign(2 * slots_.size(), 0);
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    std::size_t at = start(digests_[i]);
    while (slots_[at] != 0) { at = after(at); }
    slots_[at] = (hash(digests_[i]) & ~index_mask) | (i + 1);
  }
}

}  // namespace block_digest
