// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/slot_sides.hpp"

#include <memory>
#include <type_traits>

namespace flotilla::dispatch {

static_assert(std::is_nothrow_default_constructible_v<slot_side>);

slot_sides::slot_sides(std::size_t window)
    : blocks_((window + block - 1) / block),
      memory_(blocks_ * (block * sizeof(slot_side) + sizeof(std::atomic<bool>))),
      sides_(reinterpret_cast<slot_side*>(memory_.data())),
      constructed_(reinterpret_cast<std::atomic<bool>*>(sides_ + blocks_ * block)) {
  std::uninitialized_value_construct_n(constructed_, blocks_);
}

slot_sides::~slot_sides() {
  for (std::size_t i = 0; i < blocks_; ++i) {
    if (constructed_[i].load(std::memory_order_relaxed)) {
      std::destroy_n(sides_ + i * block, block);
    }
  }
}

void slot_sides::construct(std::size_t which) noexcept {
  std::scoped_lock const lock{construction_};
  if (constructed_[which].load(std::memory_order_relaxed)) { return; }
  std::uninitialized_default_construct_n(sides_ + which * block, block);
  constructed_[which].store(true, std::memory_order_release);  // pairs with the acquire in []
}

}  // namespace flotilla::dispatch
