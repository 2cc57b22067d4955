// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words in pinned memory on which streams of the application wait, and which the host raises.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace flotilla::dispatch {

/// A flag belongs to one task at a time. Its numbers only grow, so a word can be used again at
/// once, even while a stream still waits for a lower number. Threads: any.
class wait_flags {
 public:
  /// A word, and the number that it will reach.
  struct flag {
    std::uint64_t* word;
    std::uint64_t number;
  };

  /// Adds flags. The words must be 0, and must exist as long as any stream waits for them.
  /// @throws std::bad_alloc
  void add(std::uint64_t* words, std::size_t count) {
    std::lock_guard const lock{mutex_};
    words_ = words;
    count_ = count;
    free_.reserve(count);  // so that `raise` never allocates
    for (std::size_t i = 0; i < count; ++i) { free_.push_back({words + i, 0}); }
  }
  /// Forgets the words, before their memory is freed.
  void forget() noexcept {
    std::lock_guard const lock{mutex_};
    count_ = 0;
  }
  /// Takes a flag for one task, or returns an empty optional if all flags are in use.
  [[nodiscard]] std::optional<flag> take() noexcept {
    std::lock_guard const lock{mutex_};
    if (free_.empty()) { return std::nullopt; }
    flag one = free_.back();
    free_.pop_back();
    ++one.number;
    return one;
  }
  /// Lets the stream that waits for the flag continue. The flag may then be taken again. Never
  /// waits for the driver.
  void raise(flag const& one) noexcept {
    std::lock_guard const lock{mutex_};
    if (!all_raised_) { store(*one.word, one.number); }
    free_.push_back(one);
  }
  /// Lets all streams continue that wait for a flag, now or later. Call it when the runtime is
  /// poisoned: all its tasks count as ended then, but maybe no thread runs the continuations that
  /// raise the flags.
  void raise_all() noexcept {
    std::lock_guard const lock{mutex_};
    all_raised_ = true;
    for (std::size_t i = 0; i < count_; ++i) { store(words_[i], above_all_numbers); }
  }

 private:
  // Streams compare modulo 2^64: they wait until word - number, as a signed number, is >= 0.
  static constexpr std::uint64_t above_all_numbers = std::uint64_t{1} << 62;

  static void store(std::uint64_t& word, std::uint64_t number) noexcept {
    // release: the stream must see what the host did before the task's continuation ran
    std::atomic_ref{word}.store(number, std::memory_order_release);
  }

  std::mutex mutex_;  // never held during a driver call, because `raise` needs it
  std::vector<flag> free_;
  std::uint64_t* words_ = nullptr;
  std::size_t count_ = 0;
  bool all_raised_ = false;
};

}  // namespace flotilla::dispatch
