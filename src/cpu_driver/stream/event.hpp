#pragma once
// Events. Each record of an event is an object of its own, so a waiter waits for the record that
// was the latest when it asked, even if the event is recorded again.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/base/latch.hpp"

namespace flotilla::cpu_driver {

/// One record of an event. Threads: any.
class event_record {
 public:
  using clock = std::chrono::steady_clock;

  /// A record in `streams` streams completes when the last of them has reached it.
  explicit event_record(bool timed, int streams = 1) noexcept : timed_(timed), pending_(streams) {}

  /// acquire: pairs with the release in complete()
  [[nodiscard]] bool completed() const noexcept {
    return (state_.load(std::memory_order_acquire) & done) != 0;
  }

  /// For a device that would have to wait: true if completed. If not, all devices are woken when it
  /// completes. One atomic step asks and announces, so a record cannot complete between the two.
  [[nodiscard]] bool watch() noexcept {
    return completed() || (state_.fetch_or(watched, std::memory_order_acq_rel) & done) != 0;
  }

  /// A stream has reached the record.
  void complete() noexcept;
  /// A stream will never reach the record because a fault has emptied it. Releases the waiters, who
  /// then check for the fault.
  void abandon() noexcept { complete(); }

  void wait(spin_times times) noexcept { latch_.wait(times); }

  /// When it completed. Call only after completed().
  [[nodiscard]] clock::time_point time() const noexcept { return time_; }

 private:
  static constexpr unsigned done = 1;
  static constexpr unsigned watched = 2;

  std::atomic<unsigned> state_{0};
  bool const timed_;
  std::atomic<int> pending_;  // streams that have not reached it
  clock::time_point time_{};  // written before `done` is set
  latch latch_{1};
};

class event {
 public:
  using handles = handle_table<event, CUevent, handle_kind::event>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  event(CUevent self, CUcontext owner, unsigned flags) noexcept
      : self_(self), owner_(owner), flags_(flags) {}

  [[nodiscard]] CUevent self() const noexcept { return self_; }
  [[nodiscard]] CUcontext owner() const noexcept { return owner_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & CU_EVENT_DISABLE_TIMING) == 0; }
  [[nodiscard]] bool blocking() const noexcept { return (flags_ & CU_EVENT_BLOCKING_SYNC) != 0; }

  /// The latest record; null if the event was never recorded.
  [[nodiscard]] std::shared_ptr<event_record> latest() const {
    std::lock_guard const lock(mutex_);
    return latest_;
  }
  void set_latest(std::shared_ptr<event_record> record) {
    std::lock_guard const lock(mutex_);
    latest_.swap(record);  // the older record is destroyed outside the lock
  }

 private:
  CUevent const self_;
  CUcontext const owner_;
  unsigned const flags_;
  std::mutex mutable mutex_;
  std::shared_ptr<event_record> latest_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
