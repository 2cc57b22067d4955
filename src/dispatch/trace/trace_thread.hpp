// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One thread of a trace: its name, and its buffer of records.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <boost/lockfree/spsc_queue.hpp>

#include "base/single_writer.hpp"
#include "dispatch/trace/trace_records.hpp"

namespace flotilla::dispatch {

/// How much memory the buffers of all threads may use.
class trace_budget {
 public:
  void set(std::size_t bytes) noexcept { left_.store(static_cast<std::ptrdiff_t>(bytes)); }
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    auto const wanted = static_cast<std::ptrdiff_t>(bytes);
    if (left_.fetch_sub(wanted) >= wanted) { return true; }
    give_back(bytes);
    return false;
  }
  void give_back(std::size_t bytes) noexcept {
    left_.fetch_add(static_cast<std::ptrdiff_t>(bytes));
  }

 private:
  std::atomic<std::ptrdiff_t> left_{0};
};

/// The owning thread pushes records, and the writer of the trace pops them. The queue is made at
/// the first push, because most submitting threads never push. Pushing never waits: if there is no
/// room, the record is dropped and counted.
class trace_thread {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{8} << 20;

  /// Describes the calling thread, which becomes the owner.
  trace_thread(std::uint32_t index, trace_budget& budget);

  // ---- the owner ----

  /// @param words  A whole record.
  void push(std::span<std::uint64_t const> words) noexcept;
  /// Counts a task that is submitted. `withdraw` counts it off again.
  void count_submit() noexcept { base::add(submitted_); }
  void withdraw() noexcept { base::add(submitted_, ~std::uint64_t{0}); }

  // ---- the writer ----

  static constexpr std::size_t max_words = 0x10000;  // of a record
  // Words that are popped together. They fit into the first cache.
  static constexpr std::size_t words_at_once = 2048;
  /// Passes each record to `visit(words)`, and removes it. @return how many words it has removed.
  /// @param scratch  max_words words.
  /// @param prepare  Is called before the first visit, when the records to visit are certain.
  template <class Prepare, class Visit>
  std::size_t take_all(std::uint64_t* scratch, Prepare const& prepare, Visit const& visit);
  /// Frees the buffer. The owner must have ended.
  void free_buffer() noexcept;

  [[nodiscard]] bool has_buffer() const noexcept {
    return queue_.load(std::memory_order_relaxed) != nullptr;
  }

  // ---- any thread ----

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] std::int64_t tid() const noexcept { return tid_; }
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t submitted() const noexcept {
    return submitted_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t dropped_tasks() const noexcept {
    return dropped_tasks_.load(std::memory_order_relaxed);
  }

 private:
  using queue = boost::lockfree::spsc_queue<std::uint64_t>;
  [[nodiscard]] queue* make_queue() noexcept;

  std::uint32_t const index_;
  std::int64_t const tid_;
  std::string const name_;
  trace_budget& budget_;
  std::unique_ptr<queue> own_;
  std::atomic<queue*> queue_{nullptr};           // written by the owner
  std::atomic<std::uint64_t> submitted_{0};      // written by the owner
  std::atomic<std::uint64_t> dropped_{0};        // written by the owner: tasks, and other records
  std::atomic<std::uint64_t> dropped_tasks_{0};  // written by the owner: those of tasks
};

template <class Prepare, class Visit>
std::size_t trace_thread::take_all(std::uint64_t* scratch, Prepare const& prepare,
                                   Visit const& visit) {
  queue* const from =
      queue_.load(std::memory_order_acquire);  // pairs with the release in make_queue
  if (from == nullptr) { return 0; }
  // Only what has arrived by now, so that the writer also gets to the other threads.
  std::size_t const arrived = from->read_available();
  if (arrived != 0) { prepare(); }
  std::size_t kept = 0;  // words of a record whose rest is still in the queue
  for (std::size_t left = arrived; left != 0;) {
    std::size_t const taken =
        from->pop(scratch + kept, std::min({left, words_at_once, max_words - kept}));
    left -= taken;
    std::span<std::uint64_t const> words{scratch, kept + taken};
    while (!words.empty()) {
      auto const head = std::bit_cast<record_head>(words[0]);
      if (head.words > words.size()) { break; }
      visit(words.first(head.words));
      words = words.subspan(head.words);
    }
    kept = words.size();
    std::memmove(scratch, words.data(), words.size_bytes());
  }
  return arrived;
}

}  // namespace flotilla::dispatch
