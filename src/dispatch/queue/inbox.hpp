#pragma once
// The queue from one submitting thread to one device.

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <memory>

#include "base/fixed_buffer_allocator.hpp"
#include "dispatch/task/slot_pool.hpp"

namespace flotilla::dispatch {

/// A wait-free queue of slots, from one thread to one device or to any device, for one priority
/// level. It is as large as the window, so a push never fails.
///
/// The consumer is the holder of the device's lease. An inbox for any device is consumed by the
/// thread that has claimed it, because two consumers at once would deliver slots twice.
class inbox {
 public:
  explicit inbox(std::size_t capacity, priority_level level = 0)
      : own_(new slot_address[ring_words(capacity)]),
        queue_(capacity, ring_memory{own_.get()}),
        level_(level) {}
  /// In shared memory, with the ring (`ring_words(capacity)` words) in the same mapping. Other
  /// processes use the object where it lies; one of them destroys it.
  inbox(std::size_t capacity, slot_address* ring) : queue_(capacity, ring_memory{ring}) {}
  [[nodiscard]] static constexpr std::size_t ring_words(std::size_t capacity) noexcept {
    return capacity + 1;  // one more, to tell a full ring from an empty one
  }

  /// The block that the owning thread takes slots from. The consumer owns it after the inbox is
  /// orphaned.
  [[nodiscard]] slot_pool::cursor& slots() noexcept { return slots_; }
  /// Threads: the owning one.
  void push(slot_address task) noexcept { queue_.push(task); }
  /// Threads: the consumer. @return how many tasks were taken, at most `max`.
  std::size_t pop(slot_address* tasks, std::size_t max) noexcept { return queue_.pop(tasks, max); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.read_available(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] bool try_claim() noexcept {
    return !claimed_.load(std::memory_order_relaxed) &&
           !claimed_.exchange(true,
                              std::memory_order_acquire);  // pairs with the release in unclaim
  }
  void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

  [[nodiscard]] priority_level level() const noexcept { return level_; }

  /// Threads: the owning one, as it ends. Nothing is pushed afterwards.
  void orphan() noexcept { orphaned_.store(true, std::memory_order_release); }
  [[nodiscard]] bool orphaned() const noexcept {
    return orphaned_.load(std::memory_order_acquire);  // pairs with orphan: all pushes are seen
  }

 private:
  using ring_memory = base::fixed_buffer_allocator<slot_address>;
  // The ring of an inbox that one process uses; else null. Kept here as well because the queue
  // stores only an offset to it, which no leak checker follows.
  std::unique_ptr<slot_address[]> own_;
  boost::lockfree::spsc_queue<slot_address, boost::lockfree::allocator<ring_memory>> queue_;
  slot_pool::cursor slots_;
  std::atomic<bool> claimed_{false};   // the consumers
  std::atomic<bool> orphaned_{false};  // the owning thread
  priority_level const level_ = 0;
};

}  // namespace flotilla::dispatch
