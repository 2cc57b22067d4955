// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "digest_set.hpp"

#include <utility>

namespace block_digest {

bool digest_set::insert(digest const& value) {
  if (value == digest{}) { return !std::exchange(has_zero_, true); }
  digest* slot = &find(value);
  if (*slot == value) { return false; }
  if (2 * (used_ + 1) > slots_.size()) {
    grow();
    slot = &find(value);
  }
  *slot = value;
  ++used_;
  return true;
}

// Returns the slot with the digest, or the empty slot for it.
digest& digest_set::find(digest const& value) noexcept {
  std::size_t at = slot_of(value);
  while (slots_[at] != value && slots_[at] != digest{}) { at = (at + 1) & (slots_.size() - 1); }
  return slots_[at];
}

void digest_set::grow() {
  std::vector<digest> const old = std::exchange(slots_, std::vector<digest>(2 * slots_.size()));
  for (digest const& each : old) {
    if (each != digest{}) { find(each) = each; }
  }
}

}  // namespace block_digest
