// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/destroyed_buffers.hpp"

#include <algorithm>

namespace flotilla::dispatch {

void destroyed_buffers::add(std::uint64_t id) {
  std::lock_guard const lock{mutex_};
  ids_.push_back(id);
  // The driver has forgotten the oldest buffers long ago, unless this many buffers were destroyed
  // while one task ran. Then a mistake may stay unnoticed.
  if (ids_.size() > max_buffers) { ids_.pop_front(); }
}

bool destroyed_buffers::holds(std::uint64_t id) const {
  std::lock_guard const lock{mutex_};
  return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
}

}  // namespace flotilla::dispatch
