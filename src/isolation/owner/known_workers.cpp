// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/known_workers.hpp"

#include <utility>

#include "isolation/owner/reserved.hpp"
#include "isolation/protocol/operation.hpp"

namespace flotilla::isolated {

known_workers::known_workers() : known_(reserve<std::atomic<std::uint32_t>>(first_shared_object)) {}

void known_workers::serve_next(CUresult status, std::string why) {
  {
    std::lock_guard const lock{mutex_};
    last_reason_ = std::move(why);
  }
  last_status_.store(static_cast<int>(status), std::memory_order_relaxed);
  serving_.fetch_add(1, std::memory_order_release);  // pairs with `serving`
}

std::string known_workers::last_reason() const {
  std::lock_guard const lock{mutex_};
  return last_reason_;
}

}  // namespace flotilla::isolated
