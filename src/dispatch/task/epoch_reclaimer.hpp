#pragma once
// Epoch-based reclamation: finds out when no open task can use an item any more.

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// The epoch counts retired items. A task remembers the epoch in which it was submitted. Retiring
/// an item closes an epoch; the item can be freed once no open task belongs to that epoch or an
/// earlier one. Tasks that are submitted later cannot use the item, because it was given up before.
/// So all buffers and kept errors together cost a task one load.
class epoch_reclaimer {
 public:
  enum class kinds : std::uint8_t { device_memory, host_memory, failure, recorded };
  struct item {
    std::uint64_t epoch = 0;
    kinds kind = kinds::failure;
    unsigned device = 0;        // whose lease is needed to free it
    std::uint64_t address = 0;  // of memory; of a failure: its slot; of a recorded part: its index
    std::uint64_t generation = 0;  // of a failure
    std::size_t bytes = 0;         // of memory
  };

  /// The epoch of a new task. Cost: one load of a line that is rarely written.
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);
  }
  /// The epoch, for a search for the oldest open task. A search after this call sees every task
  /// that could use an item retired before it.
  [[nodiscard]] std::uint64_t epoch_seen() const noexcept {
    return epoch_.load(std::memory_order_acquire);  // pairs with close_epoch
  }
  /// Ends the current epoch. @return the epoch that ended: tasks submitted before belong to it or
  /// to an earlier one.
  std::uint64_t close_epoch() noexcept {
    return epoch_.fetch_add(1, std::memory_order_acq_rel);  // pairs with the acquire in epoch_seen
  }

  void retire(item what) {
    std::lock_guard const lock{mutex_};
    what.epoch = close_epoch();
    items_.push_back(what);
    count_.store(items_.size(), std::memory_order_release);
  }
  [[nodiscard]] bool empty() const noexcept {
    return count_.load(std::memory_order_acquire) == 0;  // pairs with the releases in retire, take
  }

  /// The bytes of memory of all items that `accept` accepts and that can be freed. @param oldest
  /// The epoch of the oldest open task.
  template <class Accept>
  [[nodiscard]] std::size_t bytes(std::uint64_t oldest, Accept&& accept) {
    std::lock_guard const lock{mutex_};
    std::size_t sum = 0;
    for (item const& each : items_) {
      if (each.epoch >= oldest) { break; }
      sum += accept(each) ? each.bytes : 0;
    }
    return sum;
  }

  /// Removes the first item that `accept` accepts and that can be freed. @param oldest  The epoch
  /// of the oldest open task.
  template <class Accept>
  [[nodiscard]] std::optional<item> take(std::uint64_t oldest, Accept&& accept) {
    std::lock_guard const lock{mutex_};
    for (auto each = items_.begin(); each != items_.end() && each->epoch < oldest; ++each) {
      if (!accept(*each)) { continue; }
      item const found = *each;
      items_.erase(each);
      count_.store(items_.size(), std::memory_order_release);
      return found;
    }
    return std::nullopt;
  }

 private:
  std::atomic<std::uint64_t> epoch_{1};  // any thread
  std::atomic<std::size_t> count_{0};    // size of items_, written under the mutex
  std::mutex mutex_;
  std::deque<item> items_;  // in order of their epochs
};

}  // namespace flotilla::dispatch
