#pragma once
// The slots of one window: of a device, or of the tasks for any device.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/cache_line.hpp"
#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// What few tasks have, kept beside the slots and recycled with them.
struct slot_side {
  struct key { slot_address slot; std::uint32_t generation; };
  std::unique_ptr<std::byte[]> arguments;  // launch::most_bytes, once it was needed
  std::vector<key> more_dependencies;      // past slot::inline_dependencies
  std::array<char, 48> label{};            // ended by a zero; shortened where it does not fit

  void set_label(std::string_view text) noexcept {
    std::size_t const bytes = std::min(text.size(), label.size() - 1);
    std::memcpy(label.data(), text.data(), bytes);
    label[bytes] = '\0';
  }
};

/// The transfer or work object that a slot holds.
template <class T>
[[nodiscard]] T& held_in(slot& of) noexcept {
  return *std::launder(reinterpret_cast<T*>(of.bytes));
}

/// `window` slots, in blocks of 32. A submitting thread works off a block at a time, so that in a flood no two
/// threads write the same line; ended slots come back to their block, a whole run of them in one step.
///
/// A block's word has a bit for each slot that is taken, and `held` while a thread works it off. A block that is
/// not held and has a free slot is offered: one bit in `not_offered_` is clear. Whoever gives slots back to
/// a block that nobody holds offers it; whoever lets go of a block does so only while it is full, in one
/// step with seeing that, or offers it. So a free slot is in a held block or in an offered one, and who finds no
/// offer takes from what others hold, by `take_any`: a window is full only when every slot is taken
/// (tests/unit/dispatch/slot_pool_model_test.cpp). `held` may be lost where two threads got the same block,
/// which costs an offer too many and nothing else.
///
/// All that processes share lies in one piece of memory and holds no addresses; zeros are a pool with nothing taken. What
/// lies beside the slots (`side`) is each process's own.
class slot_pool {
 public:
  static constexpr std::uint32_t block_slots = 32;
  static constexpr std::uint32_t no_block = 0xffff'ffff;

  /// The block that a thread works off; its own, and given to `let_go` when it is no longer used.
  struct cursor { std::uint32_t block = no_block; };

  /// In memory of its own.
  slot_pool(unsigned number, std::size_t window);
  /// In memory that somebody else gives: `bytes(window)` bytes on a cache line, zeros at first. Any number of
  /// processes may have a pool of the same number and window on it at once, wherever each has it mapped.
  /// Lifetime  the memory must outlive the pool.
  slot_pool(unsigned number, std::size_t window, void* memory);
  slot_pool(slot_pool const&) = delete;
  slot_pool& operator=(slot_pool const&) = delete;

  /// A free slot of the cursor's block or an offered one, or no_slot. Any thread. Cost: an uncontended
  /// read-modify-write.
  [[nodiscard]] slot_address take(cursor& mine) noexcept {
    slot_address const got = mine.block == no_block ? no_slot : take_from(mine.block);
    return got != no_slot ? got : take_from_another(mine);
  }
  /// A free slot, whoever holds its block, or no_slot: the window is full. Any thread. Reads every block.
  [[nodiscard]] slot_address take_any() noexcept;
  /// Changes whenever slots come back: what a thread looks at that waits for one.
  [[nodiscard]] std::uint32_t returns() const noexcept { return head_->returns.load(std::memory_order_acquire); }
  /// After the slot's generation has moved. Any thread.
  void give_back(slot_address address) noexcept {
    give_back((address & 0xffff) / block_slots, bit_of(address));
    say_returned();
  }
  /// The same for slots of one block, a bit each; `say_returned` once all are.
  void give_back(std::uint32_t block, std::uint32_t slots) noexcept;
  void say_returned() noexcept { head_->returns.fetch_add(1, std::memory_order_release); }  // pairs with returns
  void let_go(cursor& of) noexcept;
  [[nodiscard]] static std::uint32_t bit_of(slot_address address) noexcept {
    return std::uint32_t{1} << (address % block_slots);
  }

  [[nodiscard]] slot& operator[](std::uint32_t index) noexcept { return slots_[index]; }
  [[nodiscard]] slot_side& side(std::uint32_t index) noexcept { return sides_[index]; }
  [[nodiscard]] std::size_t window() const noexcept { return window_; }
  /// Slots in use, a count; exact when nobody submits or drains. Reads a line for every 32 slots ever used.
  [[nodiscard]] std::size_t used() const noexcept;
  [[nodiscard]] bool any_used() const noexcept;
  [[nodiscard]] bool any_free() const noexcept;
  /// Every slot with this index or a greater one has never been used.
  [[nodiscard]] std::uint32_t touched() const noexcept {
    return std::min(head_->touched.load(std::memory_order_acquire) * block_slots, static_cast<std::uint32_t>(window_));
  }
  /// How much memory a pool takes.
  [[nodiscard]] static std::size_t bytes(std::size_t window) noexcept;

 private:
  static constexpr std::uint64_t held = std::uint64_t{1} << 32;
  static constexpr std::uint32_t full = 0xffff'ffff;
  // The memory begins with the head; what has a bit or a word for each block follows, and the slots.
  struct head {
    alignas(base::cache_line) std::atomic<std::uint32_t> touched;  // blocks
    alignas(base::cache_line) std::atomic<std::uint32_t> returns;
  };
  struct alignas(base::cache_line) block_word { std::atomic<std::uint64_t> word; };
  /// Unmaps what is ours: a length of 0 is memory that was given.
  struct unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const noexcept;
  };
  using block_of_memory = std::unique_ptr<std::byte, unmap>;

  slot_pool(unsigned number, std::size_t window, block_of_memory memory);
  [[nodiscard]] static block_of_memory mapped(std::size_t bytes);
  [[nodiscard]] slot_address take_from(std::uint32_t block) noexcept;
  /// The same as `take`; of the cursor's block only what has come back just now.
  [[nodiscard]] slot_address take_from_another(cursor& mine) noexcept;
  [[nodiscard]] std::uint32_t pick() noexcept;
  void offer(std::uint32_t block) noexcept;

  std::uint32_t base_;
  std::size_t window_;
  std::uint32_t blocks_;
  block_of_memory memory_;  // given pages only where it is touched
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
    // acquire: pairs with the release in give_back. Asked for one bit alone, it is one instruction.
    if ((word.fetch_or(bit, std::memory_order_acquire) & bit) == 0) {
      std::uint32_t const index = block * block_slots + lowest;
      // The next one most likely: whoever ended its last task has its lines.
      auto const* const next = reinterpret_cast<std::byte const*>(&slots_[index + 1]);
      for (std::size_t line = 0; line < 3; ++line) { __builtin_prefetch(next + line * base::cache_line, 1); }
      return base_ | index;
    }
  }
}

/// Gives slots back in runs of one block, and says so once to those who wait.
class slot_returns {
 public:
  void add(slot_pool& pool, slot_address address) noexcept {
    std::uint32_t const block = (address & 0xffff) / slot_pool::block_slots;
    if (&pool != pool_ || block != block_) {
      flush_block();
      if (&pool != pool_) { say(); }
      pool_ = &pool;
      block_ = block;
    }
    slots_ |= slot_pool::bit_of(address);
  }
  ~slot_returns() {
    flush_block();
    say();
  }
  slot_returns() = default;
  slot_returns(slot_returns const&) = delete;
  slot_returns& operator=(slot_returns const&) = delete;

 private:
  void flush_block() noexcept {
    if (slots_ != 0) { pool_->give_back(block_, slots_); }
    slots_ = 0;
  }
  void say() noexcept {
    if (pool_ != nullptr) { pool_->say_returned(); }
  }

  slot_pool* pool_ = nullptr;
  std::uint32_t block_ = 0;
  std::uint32_t slots_ = 0;
};

}  // namespace flotilla::dispatch
