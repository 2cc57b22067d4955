#pragma once
// The slots of one window: of a device, or of the tasks for any device.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "base/cache_line.hpp"
#include "dispatch/task/slot.hpp"
#include "dispatch/task/slot_side.hpp"

namespace flotilla::dispatch {

/// `window` slots, in blocks of 32. A submitting thread takes slots from one block until it is
/// empty, so that in a flood no two threads write the same line. Slots of ended tasks go back to
/// their block, several in one atomic step.
///
/// A block's word has a bit for each slot that is taken, and the bit `held` while a thread takes
/// slots from it. A block that is not held and has a free slot is offered: its bit in
/// `not_offered_` is clear. A thread that gives slots back to a block that nobody holds offers the
/// block. A thread releases a block only if it is full, which it checks in the same atomic step, or
/// else offers it. So every free slot lies in a held or in an offered block. A thread that finds no
/// offered block takes from held ones (`take_any`), so the window is full only if every slot is
/// taken (tests/unit/dispatch/task/slot_pool_model_test.cpp). If two threads get the same block,
/// `held` may be lost; that costs one superfluous offer and nothing else.
///
/// The memory that processes share is one range without addresses; all zeros is a pool with no slot
/// taken. The sides of the slots are not shared: each process has its own.
class slot_pool {
 public:
  static constexpr std::uint32_t block_slots = 32;
  static constexpr std::uint32_t no_block = 0xffff'ffff;

  /// The block that a thread takes slots from. Give it to `release` when the thread ends.
  struct cursor {
    std::uint32_t block = no_block;
  };

  /// In memory of its own.
  /// @param number  The upper half of the addresses of its slots.
  /// @param window  Slots, a count.
  slot_pool(unsigned number, std::size_t window);
  /// In memory of the caller: `bytes(window)` bytes, aligned to a cache line, all zeros before the
  /// first use. Several processes may have a pool with the same number and window on it at once;
  /// each may map it at another address.
  /// Lifetime  the memory must outlive the pool.
  slot_pool(unsigned number, std::size_t window, void* memory);
  slot_pool(slot_pool const&) = delete;
  slot_pool& operator=(slot_pool const&) = delete;

  /// A free slot of the cursor's block or of an offered one, or no_slot. Threads: any. Cost: one
  /// uncontended read-modify-write.
  [[nodiscard]] slot_address take(cursor& mine) noexcept {
    slot_address const got = mine.block == no_block ? no_slot : take_from(mine.block);
    return got != no_slot ? got : take_from_another(mine);
  }
  /// A free slot of any block, or no_slot if the window is full. Threads: any. Cost: reads every
  /// block.
  [[nodiscard]] slot_address take_any() noexcept;
  /// Changes whenever slots come back: a thread that waits for a slot polls it.
  [[nodiscard]] std::uint32_t returns() const noexcept {
    // acquire: pairs with the release in notify_returned
    return head_->returns.load(std::memory_order_acquire);
  }
  /// Call it after the slot's generation has moved. Threads: any.
  void give_back(slot_address address) noexcept {
    give_back((address & 0xffff) / block_slots, bit_of(address));
    notify_returned();
  }
  /// The same for several slots of one block, one bit each. Call `notify_returned` after the last
  /// block.
  void give_back(std::uint32_t block, std::uint32_t slots) noexcept;
  void notify_returned() noexcept {
    head_->returns.fetch_add(1, std::memory_order_release);  // pairs with the acquire in returns
  }
  void release(cursor& mine) noexcept;
  [[nodiscard]] static std::uint32_t bit_of(slot_address address) noexcept {
    return std::uint32_t{1} << (address % block_slots);
  }

  [[nodiscard]] slot& operator[](std::uint32_t index) noexcept { return slots_[index]; }
  [[nodiscard]] slot_side& side(std::uint32_t index) noexcept { return sides_[index]; }
  [[nodiscard]] std::size_t window() const noexcept { return window_; }
  /// Slots in use, a count; exact if nobody submits or drains. Cost: reads a line for every 32
  /// slots ever used.
  [[nodiscard]] std::size_t used() const noexcept;
  [[nodiscard]] bool any_used() const noexcept;
  [[nodiscard]] bool any_free() const noexcept;
  /// No slot with this index or a greater one was ever used.
  [[nodiscard]] std::uint32_t touched() const noexcept {
    // acquire: pairs with the release where a thread takes from a new block
    return std::min(head_->touched.load(std::memory_order_acquire) * block_slots,
                    static_cast<std::uint32_t>(window_));
  }
  /// The memory that a pool takes, in bytes.
  [[nodiscard]] static std::size_t bytes(std::size_t window) noexcept;

 private:
  static constexpr std::uint64_t held = std::uint64_t{1} << 32;
  static constexpr std::uint32_t full = 0xffff'ffff;
  // The memory holds, in this order: the head, the bits of the blocks, their words, the slots.
  struct head {
    alignas(base::cache_line) std::atomic<std::uint32_t> touched;  // blocks
    alignas(base::cache_line) std::atomic<std::uint32_t> returns;
  };
  struct alignas(base::cache_line) block_word {
    std::atomic<std::uint64_t> word;
  };
  /// Unmaps memory that the pool has mapped. A length of 0 means memory of the caller.
  struct unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const noexcept;
  };
  using block_of_memory = std::unique_ptr<std::byte, unmap>;

  slot_pool(unsigned number, std::size_t window, block_of_memory memory);
  [[nodiscard]] static block_of_memory mapped(std::size_t bytes);
  [[nodiscard]] slot_address take_from(std::uint32_t block) noexcept;
  /// The rest of `take`: the cursor's block was empty a moment ago.
  [[nodiscard]] slot_address take_from_another(cursor& mine) noexcept;
  [[nodiscard]] std::uint32_t pick() noexcept;
  void offer(std::uint32_t block) noexcept;

  std::uint32_t base_;
  std::size_t window_;
  std::uint32_t blocks_;
  block_of_memory memory_;  // the system maps pages when they are first touched
  head* head_;
  std::atomic<std::uint64_t>* not_offered_;
  block_word* words_;
  slot* slots_;
  std::unique_ptr<slot_side[]> sides_;
};

inline slot_address slot_pool::take_from(std::uint32_t block) noexcept {
  std::atomic<std::uint64_t>& word = words_[block].word;
  while (true) {
    auto const taken = static_cast<std::uint32_t>(word.load(std::memory_order_relaxed));
    if (taken == full) { return no_slot; }
    auto const lowest = static_cast<std::uint32_t>(std::countr_one(taken));
    std::uint64_t const bit = std::uint64_t{1} << lowest;
    // acquire: pairs with the release in give_back. With a single bit it compiles to one
    // instruction.
    if ((word.fetch_or(bit, std::memory_order_acquire) & bit) == 0) {
      std::uint32_t const index = block * block_slots + lowest;
      // Prefetch the slot that is probably taken next: its lines are in the cache of the thread
      // that ended its last task.
      auto const* const next = reinterpret_cast<std::byte const*>(&slots_[index + 1]);
      for (std::size_t line = 0; line < 3; ++line) {
        __builtin_prefetch(next + line * base::cache_line, 1);
      }
      return base_ | index;
    }
  }
}

}  // namespace flotilla::dispatch
