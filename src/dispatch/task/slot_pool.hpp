// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The slots of one window: the window of a device, or the window of tasks for any device.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/cache_line.hpp"
#include "base/mapped_memory.hpp"
#include "base/prefetch.hpp"
#include "dispatch/task/slot.hpp"
#include "dispatch/task/slot_sides.hpp"

namespace flotilla::dispatch {

/// A pool of `window` slots in blocks of 32. A submitting thread takes slots from one block until
/// the block has no free slot. So in a burst of tasks no two submitting threads write the same
/// cache line. When tasks end, a thread returns several slots to a block in one atomic step.
///
/// A block's word has a bit for each taken slot, and the bit `held` while a thread takes slots from
/// the block. A block that is not held and has a free slot is *offered*: its bit in `not_offered_`
/// is clear. There are two rules. First: a thread that returns slots to a block also offers the
/// block, unless the block is held. Second: a thread that releases a block either finds the block
/// full in the same atomic step, or offers the block. So every free slot is in a held block or an
/// offered block. If no block is offered, `take_any` takes slots from held blocks, so the window is
/// full only if every slot is taken (tests/unit/dispatch/task/slot_pool_model_test.cpp). If two
/// threads get the same block, the bit `held` may be cleared too early. This causes only one
/// superfluous offer.
class slot_pool {
 public:
  static constexpr std::uint32_t block_slots = 32;
  static constexpr std::uint32_t no_block = 0xffff'ffff;

  /// The block from which a thread takes slots. The thread passes the cursor to `release` when the
  /// thread ends.
  class cursor {
   public:
    /// The number of the block, or no_block.
    [[nodiscard]] std::uint32_t block() const noexcept { return block_; }
    /// Sets a hint: whether the thread's next tasks will use more than the first two lines of a
    /// slot. Writes only changes, because consumers read other words of this cache line.
    void expect_all_lines(bool expected) noexcept {
      if (uses_all_lines_ != expected) { uses_all_lines_ = expected; }
    }

   private:
    friend class slot_pool;
    // The prefetch distance in slots. The core that ended a slot's last task has the slot in its
    // cache, and a submit takes less time than the lines need to come from there.
    static constexpr std::uint32_t distance = 4;
    /// Prefetches the slots that the thread will probably take next: the first slots of a new
    /// block, and later one more for each slot taken.
    /// @param slots  the first slot of the block
    void prefetch_first(slot const* slots) const noexcept {
      for (std::uint32_t i = 1; i < distance; ++i) { prefetch(slots[i]); }
    }
    void prefetch_after(slot const* slots, slot_address taken) const noexcept {
      std::uint32_t const next = taken % block_slots + distance;
      // The slots of the next block may belong to another thread.
      if (next < block_slots) { prefetch(slots[next]); }
    }
    void prefetch(slot const& next) const noexcept {
      auto const* const lines = reinterpret_cast<std::byte const*>(&next);
      base::prefetch_to_write(lines);
      base::prefetch_to_write(lines + base::cache_line);
      if (uses_all_lines_) {
        base::prefetch_to_write(lines + 2 * base::cache_line);
        base::prefetch_to_write(lines + 3 * base::cache_line);
      }
    }

    std::uint32_t block_ = no_block;
    bool uses_all_lines_ = false;
  };

  /// @param number  The upper half of the addresses of its slots.
  /// @param window  The number of slots.
  slot_pool(unsigned number, std::size_t window);
  slot_pool(slot_pool const&) = delete;
  slot_pool& operator=(slot_pool const&) = delete;

  /// Returns a free slot of the cursor's block or of an offered block, or no_slot if there is none.
  /// Threads: any. Cost: one uncontended read-modify-write.
  [[nodiscard]] slot_address take(cursor& mine) noexcept {
    slot_address const got = mine.block_ == no_block ? no_slot : take_from(mine.block_);
    if (got == no_slot) { return take_from_another(mine); }
    mine.prefetch_after(slots_ + mine.block_ * block_slots, got);
    return got;
  }
  /// Returns a free slot of any block, or no_slot if the window is full. Threads: any. Cost: reads
  /// every block.
  [[nodiscard]] slot_address take_any() noexcept;
  /// Returns a counter that changes when slots come back. A thread that waits for a slot polls this
  /// counter.
  [[nodiscard]] std::uint32_t returns() const noexcept {
    // acquire: pairs with the release in notify_returned
    return head_->returns.load(std::memory_order_acquire);
  }
  /// Gives a slot back. If a task used the slot, call this after the slot's generation has
  /// increased. Threads: any.
  void give_back(slot_address address) noexcept {
    give_back((address & 0xffff) / block_slots, bit_of(address));
    notify_returned();
  }
  /// Gives back several slots of one block; `slots` has one bit for each. The caller must call
  /// `notify_returned` after the last block.
  void give_back(std::uint32_t block, std::uint32_t slots) noexcept;
  void notify_returned() noexcept {
    head_->returns.fetch_add(1, std::memory_order_release);  // pairs with the acquire in returns
  }
  void release(cursor& mine) noexcept;
  [[nodiscard]] static std::uint32_t bit_of(slot_address address) noexcept {
    return std::uint32_t{1} << (address % block_slots);
  }

  [[nodiscard]] slot& operator[](std::uint32_t index) noexcept { return slots_[index]; }
  [[nodiscard]] ticket_word& ticket_of(std::uint32_t index) noexcept { return tickets_[index]; }
  [[nodiscard]] slot_side& side(std::uint32_t index) noexcept { return sides_[index]; }
  [[nodiscard]] std::size_t window() const noexcept { return window_; }
  /// Returns the number of slots in use. The number is exact only if no thread submits or drains.
  /// Cost: reads one cache line for every 32 slots that were ever used.
  [[nodiscard]] std::size_t used() const noexcept;
  [[nodiscard]] bool any_used() const noexcept;
  [[nodiscard]] bool any_free() const noexcept;
  /// Returns an upper bound of the indices in use: no slot with this index or a greater one was
  /// ever used.
  [[nodiscard]] std::uint32_t touched() const noexcept {
    // acquire: pairs with the release in take_from_another and take_any
    return std::min(head_->touched.load(std::memory_order_acquire) * block_slots,
                    static_cast<std::uint32_t>(window_));
  }

 private:
  static constexpr std::uint64_t held = std::uint64_t{1} << 32;
  static constexpr std::uint32_t full = 0xffff'ffff;
  // The memory holds, in this order: the head, the bitmap, the words of the blocks, the words of
  // the tickets, and the slots. It begins as zeros, which the system provides when a page is first
  // used: zeros mean that no slot is taken.
  struct head {
    alignas(base::cache_line) std::atomic<std::uint32_t> touched;  // number of blocks ever used
    alignas(base::cache_line) std::atomic<std::uint32_t> returns;
  };
  struct alignas(base::cache_line) block_word {
    std::atomic<std::uint64_t> word;
  };

  [[nodiscard]] slot_address take_from(std::uint32_t block) noexcept;
  /// Called if the cursor's block had no free slot. Tries this block again, then moves the cursor
  /// to an offered block. Returns no_slot if there is none.
  [[nodiscard]] slot_address take_from_another(cursor& mine) noexcept;
  [[nodiscard]] std::uint32_t pick() noexcept;
  void offer(std::uint32_t block) noexcept;

  std::uint32_t base_;
  std::size_t window_;
  std::uint32_t blocks_;
  base::mapped_memory memory_;
  head* head_;
  std::atomic<std::uint64_t>* not_offered_;
  block_word* words_;
  ticket_word* tickets_;
  slot* slots_;
  slot_sides sides_;
};

inline slot_address slot_pool::take_from(std::uint32_t block) noexcept {
  std::atomic<std::uint64_t>& word = words_[block].word;
  while (true) {
    auto const taken = static_cast<std::uint32_t>(word.load(std::memory_order_relaxed));
    if (taken == full) { return no_slot; }
    auto const lowest = static_cast<std::uint32_t>(std::countr_one(taken));
    std::uint64_t const bit = std::uint64_t{1} << lowest;
    // acquire: pairs with the release in give_back. A fetch_or of a single bit compiles to one
    // instruction.
    if ((word.fetch_or(bit, std::memory_order_acquire) & bit) == 0) {
      std::uint32_t const index = block * block_slots + lowest;
      return base_ | index;
    }
  }
}

}  // namespace flotilla::dispatch
