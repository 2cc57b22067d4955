// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/slot_pool.hpp"

#include <bit>

namespace flotilla::dispatch {

namespace {

constexpr std::uint32_t word_bits = 64;

[[nodiscard]] std::size_t blocks_in(std::size_t window) noexcept {
  return (window + slot_pool::block_slots - 1) / slot_pool::block_slots;
}

/// Returns the size of the bitmap `not_offered_` in bytes, rounded up to whole cache lines.
[[nodiscard]] std::size_t offer_bytes(std::size_t blocks) noexcept {
  std::size_t const bits_a_line = base::cache_line * 8;
  return (blocks + bits_a_line - 1) / bits_a_line * base::cache_line;
}

/// Returns the size of the tickets' words in bytes, rounded up to whole cache lines.
[[nodiscard]] std::size_t ticket_bytes(std::size_t window) noexcept {
  constexpr std::size_t in_a_line = base::cache_line / sizeof(ticket_word);
  return (window + in_a_line - 1) / in_a_line * base::cache_line;
}

}  // namespace

slot_pool::slot_pool(unsigned number, std::size_t window)
    : base_(number << 16),
      window_(window),
      blocks_(static_cast<std::uint32_t>(blocks_in(window))),
      memory_(sizeof(head) + offer_bytes(blocks_) + blocks_ * sizeof(block_word) +
              ticket_bytes(window) + window * sizeof(slot)),
      sides_(window) {
  std::byte* next = memory_.data();
  auto const lay = [&next]<class T>(T*& at, std::size_t bytes) {
    at = reinterpret_cast<T*>(next);
    next += bytes;
  };
  lay(head_, sizeof(head));
  lay(not_offered_, offer_bytes(blocks_));
  lay(words_, blocks_ * sizeof(block_word));
  lay(tickets_, ticket_bytes(window));
  lay(slots_, window * sizeof(slot));
  // Mark the slots and blocks beyond the window permanently as taken.
  if (std::uint32_t const rest = static_cast<std::uint32_t>(window % block_slots); rest != 0) {
    words_[blocks_ - 1].word.store(full & ~((std::uint32_t{1} << rest) - 1),
                                   std::memory_order_relaxed);
  }
  if (std::uint32_t const rest = blocks_ % word_bits; rest != 0) {
    not_offered_[blocks_ / word_bits].store(~((std::uint64_t{1} << rest) - 1),
                                            std::memory_order_relaxed);
  }
}

slot_address slot_pool::take_from_another(cursor& mine) noexcept {
  while (true) {
    if (mine.block_ != no_block) {
      if (slot_address const got = take_from(mine.block_); got != no_slot) { return got; }
      // Release the block in the same atomic step that finds it full. A thread that later gives a
      // slot back then sees that no thread holds the block, and offers the block.
      std::uint64_t seen = words_[mine.block_].word.load(std::memory_order_relaxed);
      while (static_cast<std::uint32_t>(seen) == full &&
             !words_[mine.block_].word.compare_exchange_weak(seen, seen & ~held,
                                                             std::memory_order_release)) {}
      if (static_cast<std::uint32_t>(seen) != full) { continue; }
      mine.block_ = no_block;
    }
    std::uint32_t const block = pick();
    if (block == no_block) { return no_slot; }
    words_[block].word.fetch_or(held, std::memory_order_relaxed);
    mine.block_ = block;
    mine.prefetch_first(slots_ + block * block_slots);
    std::uint32_t seen = head_->touched.load(std::memory_order_relaxed);
    while (seen <= block &&
           !head_->touched.compare_exchange_weak(seen, block + 1, std::memory_order_release)) {}
  }
}

slot_address slot_pool::take_any() noexcept {
  for (std::uint32_t block = 0; block < blocks_; ++block) {
    if (slot_address const got = take_from(block); got != no_slot) {
      std::uint32_t seen = head_->touched.load(std::memory_order_relaxed);
      while (seen <= block &&
             !head_->touched.compare_exchange_weak(seen, block + 1, std::memory_order_release)) {}
      return got;
    }
  }
  return no_slot;
}

std::uint32_t slot_pool::pick() noexcept {
  for (std::uint32_t i = 0; i * word_bits < blocks_; ++i) {
    std::uint64_t gone = not_offered_[i].load(std::memory_order_relaxed);
    while (gone != ~std::uint64_t{0}) {
      std::uint64_t const bit = ~gone & (gone + 1);
      gone = not_offered_[i].fetch_or(bit, std::memory_order_relaxed);
      if ((gone & bit) == 0) {
        return i * word_bits + static_cast<std::uint32_t>(std::countr_zero(bit));
      }
    }
  }
  return no_block;
}

void slot_pool::offer(std::uint32_t block) noexcept {
  std::atomic<std::uint64_t>& word = not_offered_[block / word_bits];
  std::uint64_t const bit = std::uint64_t{1} << (block % word_bits);
  if ((word.load(std::memory_order_relaxed) & bit) != 0) {
    word.fetch_and(~bit, std::memory_order_relaxed);
  }
}

void slot_pool::give_back(std::uint32_t block, std::uint32_t slots) noexcept {
  // release: pairs with the acquire in take_from and in used, which then see what the tasks did.
  // acquire: a thread that finds the block released also sees that the block is not offered.
  std::uint64_t const before =
      words_[block].word.fetch_and(~std::uint64_t{slots}, std::memory_order_acq_rel);
  if ((before & held) == 0) { offer(block); }
}

void slot_pool::release(cursor& mine) noexcept {
  if (mine.block_ == no_block) { return; }
  // acq_rel: pairs with the acquire and release in give_back
  std::uint64_t const before = words_[mine.block_].word.fetch_and(~held, std::memory_order_acq_rel);
  if (static_cast<std::uint32_t>(before) != full) { offer(mine.block_); }
  mine.block_ = no_block;
}

std::size_t slot_pool::used() const noexcept {
  std::size_t sum = 0;
  std::uint32_t const blocks = head_->touched.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    sum += static_cast<std::size_t>(
        std::popcount(static_cast<std::uint32_t>(words_[i].word.load(std::memory_order_acquire))));
  }
  return sum - (blocks * std::size_t{block_slots} - touched());  // without bits beyond the window
}

bool slot_pool::any_used() const noexcept {
  std::uint32_t const blocks = head_->touched.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    auto const taken = static_cast<std::uint32_t>(words_[i].word.load(std::memory_order_acquire));
    std::uint32_t const past = std::size_t{i + 1} * block_slots <= window_
                                   ? 0
                                   : full & ~((std::uint32_t{1} << (window_ % block_slots)) - 1);
    if ((taken & ~past) != 0) { return true; }
  }
  return false;
}

bool slot_pool::any_free() const noexcept {
  for (std::uint32_t i = 0; i < blocks_; ++i) {
    if (static_cast<std::uint32_t>(words_[i].word.load(std::memory_order_relaxed)) != full) {
      return true;
    }
  }
  return false;
}

}  // namespace flotilla::dispatch
