// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queue from one submitting thread to one device, or to any device.

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>

#include "dispatch/task/slot_pool.hpp"

namespace flotilla::dispatch {

/// A wait-free queue of tasks of one priority level. One thread pushes: the owning thread. The
/// capacity is the window, so a push never fails.
///
/// The tasks of an inbox are either for one device or for any device. In the first case, only the
/// holder of that device's lease pops. In the second case, a thread must claim the inbox before it
/// pops, because two consumers at once would take the same tasks.
class inbox {
 public:
  explicit inbox(std::size_t capacity, priority_level level = 0)
      : queue_(capacity), level_(level) {}

  /// Returns the block from which the owning thread takes slots. After `orphan`, the block belongs
  /// to the consumer.
  [[nodiscard]] slot_pool::cursor& slots() noexcept { return slots_; }
  /// Threads: only the owning thread.
  void push(slot_address task) noexcept { queue_.push(task); }
  /// Threads: only the consumer. @return the number of tasks taken, at most `max`.
  std::size_t pop(slot_address* tasks, std::size_t max) noexcept { return queue_.pop(tasks, max); }
  /// Returns the oldest task, or no_slot if the inbox is empty. Threads: only the consumer.
  [[nodiscard]] slot_address front() noexcept { return empty() ? no_slot : queue_.front(); }
  /// Announces that the inbox may contain chunks of bulks. Call it before the first push of a
  /// chunk. Threads: only the owning thread.
  void expect_chunks() noexcept { may_have_chunks_.store(true, std::memory_order_relaxed); }
  /// A consumer that misses the announcement may take more chunks at once than it should. If this
  /// function returns false after `pop`, the call of `pop` has taken no chunk
  /// (tests/unit/dispatch/queue/chunk_count_model_test.cpp).
  [[nodiscard]] bool may_have_chunks() const noexcept {
    return may_have_chunks_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.read_available(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] bool try_claim() noexcept {
    return !claimed_.load(std::memory_order_relaxed) &&
           !claimed_.exchange(true,
                              std::memory_order_acquire);  // pairs with the release in unclaim
  }
  void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

  [[nodiscard]] priority_level level() const noexcept { return level_; }

  /// Marks the inbox as orphaned: the owning thread is ending and pushes nothing more.
  /// Threads: only the owning thread.
  void orphan() noexcept { orphaned_.store(true, std::memory_order_release); }
  [[nodiscard]] bool orphaned() const noexcept {
    return orphaned_.load(std::memory_order_acquire);  // pairs with the release in orphan
  }

 private:
  boost::lockfree::spsc_queue<slot_address> queue_;
  slot_pool::cursor slots_;
  std::atomic<bool> claimed_{false};          // written by consumers
  std::atomic<bool> orphaned_{false};         // written by the owning thread
  std::atomic<bool> may_have_chunks_{false};  // written by the owning thread
  priority_level const level_;
};

}  // namespace flotilla::dispatch
