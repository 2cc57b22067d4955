// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue/inbox_registry.hpp"

#include <algorithm>

namespace flotilla::dispatch {

std::shared_ptr<inbox> inbox_registry::open(std::size_t capacity, priority_level level) {
  auto made = std::make_shared<inbox>(capacity, level);
  std::lock_guard const lock{mutex_};
  boxes_.push_back(made);
  version_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in refresh
  return made;
}

void inbox_registry::refresh(view& copy) {
  // acquire: pairs with the release in open and sweep
  if (version_.load(std::memory_order_acquire) == copy.version) { return; }
  std::lock_guard const lock{mutex_};
  copy.boxes = boxes_;
  std::stable_sort(copy.boxes.begin(), copy.boxes.end(), [](auto const& one, auto const& other) {
    return one->level() > other->level();
  });
  for (unsigned level = 0; level < priority_levels; ++level) {
    auto const first =
        std::partition_point(copy.boxes.begin(), copy.boxes.end(),
                             [level](auto const& box) { return box->level() > level; });
    copy.first[level] = static_cast<std::size_t>(first - copy.boxes.begin());
  }
  // Set the version last: if the code above throws std::bad_alloc, the next call copies again.
  copy.version = version_.load(std::memory_order_relaxed);
}

void inbox_registry::sweep(slot_pool& pool) {
  std::lock_guard const lock{mutex_};
  auto const is_unused = [&pool](std::shared_ptr<inbox> const& box) {
    if (!box->orphaned() || !box->empty()) { return false; }
    pool.release(box->slots());
    return true;
  };
  if (std::erase_if(boxes_, is_unused) != 0) { version_.fetch_add(1, std::memory_order_release); }
}

}  // namespace flotilla::dispatch
