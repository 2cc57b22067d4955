// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives back the slots of many ended tasks.

#include <cstdint>

#include "dispatch/task/slot_pool.hpp"

namespace flotilla::dispatch {

/// Collects slots. Slots of one block that are added in succession are given back in one atomic
/// step. Waiting threads are notified once per pool. The destructor gives back the remaining slots.
class slot_returns {
 public:
  void add(slot_pool& pool, slot_address slot) noexcept {
    std::uint32_t const block = (slot & 0xffff) / slot_pool::block_slots;
    if (&pool != pool_ || block != block_) {
      flush_block();
      if (&pool != pool_) { notify(); }
      pool_ = &pool;
      block_ = block;
    }
    slots_ |= slot_pool::bit_of(slot);
  }
  ~slot_returns() {
    flush_block();
    notify();
  }
  slot_returns() = default;
  slot_returns(slot_returns const&) = delete;
  slot_returns& operator=(slot_returns const&) = delete;

 private:
  void flush_block() noexcept {
    if (slots_ != 0) { pool_->give_back(block_, slots_); }
    slots_ = 0;
  }
  void notify() noexcept {
    if (pool_ != nullptr) { pool_->notify_returned(); }
  }

  slot_pool* pool_ = nullptr;
  std::uint32_t block_ = 0;
  std::uint32_t slots_ = 0;
};

}  // namespace flotilla::dispatch
