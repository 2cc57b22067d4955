#pragma once
// How a submitting thread hands slots to whoever drains.

#include <array>
#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/given_memory.hpp"
#include "dispatch/slot_pool.hpp"
#include "dispatch/urgency.hpp"

namespace flotilla::dispatch {

/// Wait-free, from one thread to one device or to any, for tasks of one level of urgency. As large as the window, so a push never fails.
///
/// The consuming end belongs to the holder of the device's lease; of an inbox for any device, to whoever
/// holds its claim: two consumers at once would deliver slots twice.
class inbox {
 public:
  explicit inbox(std::size_t capacity, urgency level = 0)
      : own_(new slot_address[ring_words(capacity)]), queue_(capacity, ring_memory{own_.get()}), level_(level) {}
  /// For an inbox in shared memory, its ring with it: `ring_words(capacity)` words, in the same mapping. Another process
  /// uses it where it finds it; one of them ends it.
  inbox(std::size_t capacity, slot_address* ring) : queue_(capacity, ring_memory{ring}) {}
  [[nodiscard]] static constexpr std::size_t ring_words(std::size_t capacity) noexcept {
    return capacity + 1;  // a full ring is told from an empty one
  }

  /// Where the owning thread gets its slots from; the consumer's, once the inbox is orphaned.
  [[nodiscard]] slot_pool::cursor& slots() noexcept { return slots_; }
  /// The owning thread only.
  void push(slot_address address) noexcept { queue_.push(address); }
  /// The consumer only. @return how many were taken, at most `most`.
  std::size_t pop(slot_address* into, std::size_t most) noexcept { return queue_.pop(into, most); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.read_available(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] bool try_claim() noexcept {
    return !claimed_.load(std::memory_order_relaxed) &&
           !claimed_.exchange(true, std::memory_order_acquire);  // pairs with the release in unclaim
  }
  void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

  [[nodiscard]] urgency level() const noexcept { return level_; }

  /// The owning thread, as it ends: nothing is pushed any more.
  void orphan() noexcept { orphaned_.store(true, std::memory_order_release); }
  [[nodiscard]] bool orphaned() const noexcept {
    return orphaned_.load(std::memory_order_acquire);  // pairs with orphan: all pushes are seen
  }

 private:
  using ring_memory = base::given_memory<slot_address>;
  /// Of an inbox in one process: null elsewhere. The queue has it by a distance, which no leak checker follows.
  std::unique_ptr<slot_address[]> own_;
  boost::lockfree::spsc_queue<slot_address, boost::lockfree::allocator<ring_memory>> queue_;
  slot_pool::cursor slots_;
  std::atomic<bool> claimed_{false};
  std::atomic<bool> orphaned_{false};
  urgency const level_ = 0;
};

/// The inboxes that lead to one place. Threads come and go; either end may be the first to let go, hence
/// shared ownership between the thread and the registry.
class inbox_registry {
 public:
  std::shared_ptr<inbox> open(std::size_t capacity, urgency level = 0);

  /// A consumer's view of the list, renewed only when the list has changed. One for each consumer.
  struct view {
    std::uint64_t version = 0;
    std::vector<std::shared_ptr<inbox>> boxes;  // the most urgent first
    std::array<std::size_t, urgencies> first{};  // of each level, in `boxes`
    std::size_t next = 0;                        // whose turn it is, of a level

    [[nodiscard]] std::span<std::shared_ptr<inbox> const> of(urgency level) const noexcept {
      std::size_t const end = level == 0 ? boxes.size() : first[level - 1];
      return {boxes.data() + first[level], end - first[level]};
    }
    /// Those of tasks that are more urgent.
    [[nodiscard]] std::span<std::shared_ptr<inbox> const> above(urgency level) const noexcept {
      return {boxes.data(), first[level]};
    }
    [[nodiscard]] urgency highest() const noexcept { return boxes.empty() ? urgency{0} : boxes.front()->level(); }
  };
  void refresh(view& seen);

  /// Drops inboxes whose thread has ended and that are empty; `pool` is where their slots came from. Consumers
  /// see it at their next refresh.
  void sweep(slot_pool& pool);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<inbox>> boxes_;
  std::atomic<std::uint64_t> version_{0};
};

/// The calling thread's inboxes to the places of one runtime: made at its first submission there, orphaned
/// when the thread ends.
class thread_inboxes {
 public:
  /// @param core   The runtime's number, never used twice.
  /// @param place  Device, or one past the last for any.
  /// Cost: some loads, once there is one and this thread's last was to the same runtime.
  [[nodiscard]] static inbox& get(std::uint64_t core, unsigned place, unsigned places,
                                  inbox_registry& registry, std::size_t capacity, urgency level = 0) {
    std::size_t const wanted = std::size_t{level} * places + place;
    if (last_.core == core && wanted < last_.places) {
      if (inbox* const box = last_.boxes[wanted].get(); box != nullptr) { return *box; }
    }
    return find(core, wanted, std::size_t{level + 1u} * places, registry, capacity, level);
  }

 private:
  struct of_core {
    std::uint64_t core;
    std::vector<std::shared_ptr<inbox>> by_place;  // and by level: those of one level together, the least urgent first
  };
  /// What `find` found last, of the calling thread. A runtime that has ended is not asked for again; the boxes of one move
  /// only in `find`, on this thread, and not where `cores_` grows.
  struct found {
    std::uint64_t core;
    std::size_t places;
    std::shared_ptr<inbox> const* boxes;
  };
  thread_inboxes() = default;
  ~thread_inboxes();
  static thread_inboxes& mine();
  [[nodiscard]] static inbox& find(std::uint64_t core, std::size_t wanted, std::size_t places, inbox_registry& registry,
                                   std::size_t capacity, urgency level);
  void forget_dead_cores();
  std::vector<of_core> cores_;
  static inline thread_local constinit found last_{};
};

}  // namespace flotilla::dispatch
