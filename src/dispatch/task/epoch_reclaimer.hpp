#pragma once
// What must stay until every task that could use it has ended.

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// Epochs count what was put here. A task remembers the epoch in which it was submitted; a thing put here
/// closes an epoch, and may go once no open task is of that epoch or an earlier one. Tasks submitted
/// later cannot use it: it was given up before. So buffers and kept errors cost a task one load.
class limbo {
 public:
  enum class kinds : std::uint8_t { device_memory, host_memory, failure, recorded };
  struct item {
    std::uint64_t epoch = 0;
    kinds kind = kinds::failure;
    unsigned device = 0;           // whose lease is needed to free it
    std::uint64_t address = 0;     // of memory; of a failure: its slot; of a recorded part: its index
    std::uint64_t generation = 0;  // of a failure
    std::size_t bytes = 0;         // of memory
  };

  /// For a new task. Cost: one load of a line that is rarely written.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }
  /// The same for who looks for the oldest: whatever was put into the limbo before is then seen to be in use.
  [[nodiscard]] std::uint64_t epoch_seen() const noexcept {
    return epoch_.load(std::memory_order_acquire);  // pairs with close_epoch
  }
  /// Ends the current epoch. @return which: tasks submitted before are of this one or earlier.
  std::uint64_t close_epoch() noexcept { return epoch_.fetch_add(1, std::memory_order_acq_rel); }

  void put(item what) {
    std::lock_guard const lock{mutex_};
    what.epoch = close_epoch();
    items_.push_back(what);
    count_.store(items_.size(), std::memory_order_release);
  }
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }

  /// How much memory that is of those that may go when `oldest` is the epoch of the oldest open task, and that `which` accepts.
  template <class Which>
  [[nodiscard]] std::size_t bytes(std::uint64_t oldest, Which&& which) {
    std::lock_guard const lock{mutex_};
    std::size_t sum = 0;
    for (auto each = items_.begin(); each != items_.end() && each->epoch < oldest; ++each) { sum += which(*each) ? each->bytes : 0; }
    return sum;
  }

  /// The first item that may go when `oldest` is the epoch of the oldest open task, and that `may` accepts.
  template <class May>
  [[nodiscard]] std::optional<item> take(std::uint64_t oldest, May&& may) {
    std::lock_guard const lock{mutex_};
    for (auto each = items_.begin(); each != items_.end() && each->epoch < oldest; ++each) {
      if (!may(*each)) { continue; }
      item const found = *each;
      items_.erase(each);
      count_.store(items_.size(), std::memory_order_release);
      return found;
    }
    return std::nullopt;
  }

 private:
  std::atomic<std::uint64_t> epoch_{1};
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::deque<item> items_;  // epochs rise
};

}  // namespace flotilla::dispatch
