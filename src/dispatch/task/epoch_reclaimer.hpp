// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epoch-based reclamation: determines when no open task can use an item any more.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Holds retired items until they can be freed. The epoch is a counter that increases with every
/// retired item. A task stores the epoch in which it was submitted. An item stores the epoch that
/// its retirement ends. The item can be freed when no open task belongs to that epoch or an earlier
/// one. Tasks that are submitted later cannot use the item, because the application gave up the
/// item before. So a task needs only one load to protect all buffers, failures and recorded graphs.
class epoch_reclaimer {
 public:
  enum class kinds : std::uint8_t {
    device_memory,
    host_memory,
    failure,
    kept_failure,  // see failure_table::put
    recorded,
  };
  struct item {
    std::uint64_t epoch = 0;
    kinds kind = kinds::failure;
    unsigned device = 0;           // the device whose lease is needed to free the item
    std::uint64_t address = 0;     // memory address, slot of a failure, or index of a part
    std::uint64_t generation = 0;  // only for failures and kept failures
    std::size_t bytes = 0;         // size of the memory
  };

  /// Returns the epoch for a new task. Cost: one load of a line that is rarely written.
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);
  }
  /// Returns the oldest pinned epoch, or the current one if none is pinned. If a search for the
  /// oldest open task begins after this call, the search sees every open task that could use an
  /// item retired before the call.
  [[nodiscard]] std::uint64_t oldest_pinned() {
    // acquire: pairs with the release in close_epoch. An epoch that is pinned after the lock is not
    // older than this one.
    std::uint64_t oldest = epoch_.load(std::memory_order_acquire);
    std::lock_guard const lock{pins_mutex_};
    for (std::uint64_t const each : pins_) { oldest = std::min(oldest, each); }
    return oldest;
  }
  /// Protects the items that a task uses which is not open yet: keeps all items that are retired
  /// while the pin exists. Open the task with the pinned epoch before the pin ends. Threads: any.
  class pin {
   public:
    /// @throws std::bad_alloc
    explicit pin(epoch_reclaimer& of) : of_(of) {
      std::lock_guard const lock{of_.pins_mutex_};
      epoch_ = of_.epoch();
      of_.pins_.push_back(epoch_);
    }
    ~pin() {
      std::lock_guard const lock{of_.pins_mutex_};
      of_.pins_.erase(std::find(of_.pins_.begin(), of_.pins_.end(), epoch_));
    }
    pin(pin const&) = delete;
    pin& operator=(pin const&) = delete;
    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

   private:
    epoch_reclaimer& of_;
    std::uint64_t epoch_ = 0;
  };
  /// Ends the current epoch and returns it. All tasks submitted before the call belong to this
  /// epoch or an earlier one.
  std::uint64_t close_epoch() noexcept {
    // acq_rel: pairs with the acquire in oldest_pinned
    return epoch_.fetch_add(1, std::memory_order_acq_rel);
  }

  /// Room for one item. A buffer or recorded part gets it when it is made, because its destructor
  /// must be able to retire it without host memory.
  class room {
   public:
    /// @throws std::bad_alloc
    explicit room(epoch_reclaimer& of) : of_(&of) { of.add_room(); }
    ~room() {
      if (of_ != nullptr) { of_->remove_room(); }
    }
    room(room const&) = delete;
    room& operator=(room const&) = delete;
    /// Leaves the room in the reclaimer: a later call of retire_in_room will use it.
    void keep() noexcept { of_ = nullptr; }

   private:
    epoch_reclaimer* of_;
  };

  /// Retires an item for which no room was kept. @throws std::bad_alloc  Nothing was retired.
  void retire(item const& what) {
    add_room();
    retire_in_room(what);
  }
  /// Retires an item for which `room::keep` was called.
  void retire_in_room(item what) noexcept {
    std::lock_guard const lock{mutex_};
    what.epoch = close_epoch();
    rooms_.front() = what;
    items_.splice(items_.end(), rooms_, rooms_.begin());
    count_.store(items_.size(), std::memory_order_release);
  }
  [[nodiscard]] bool empty() const noexcept {
    // acquire: pairs with the releases in retire and take
    return count_.load(std::memory_order_acquire) == 0;
  }

  /// Returns the total bytes of the items that can be freed and for which `accept` returns true.
  /// @param oldest  The epoch of the oldest open task.
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

  /// Removes and returns the first item that can be freed and for which `accept` returns true.
  /// @param oldest  The epoch of the oldest open task.
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
  void add_room() {
    std::list<item> made(1);
    std::lock_guard const lock{mutex_};
    rooms_.splice(rooms_.end(), made);
  }
  void remove_room() noexcept {
    std::list<item> removed;  // freed after the unlock
    std::lock_guard const lock{mutex_};
    removed.splice(removed.end(), rooms_, rooms_.begin());
  }

  std::atomic<std::uint64_t> epoch_{1};  // written by any thread
  std::atomic<std::size_t> count_{0};    // size of items_, written under the mutex
  std::mutex mutex_;
  std::list<item> items_;  // sorted by epoch
  std::list<item> rooms_;  // unused nodes for items_
  std::mutex pins_mutex_;
  std::vector<std::uint64_t> pins_;  // the pinned epochs
};

}  // namespace flotilla::dispatch
