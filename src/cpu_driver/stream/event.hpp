#pragma once
// Events. Each record makes an occurrence of its own: who waits, waits for the record that was the
// latest when it asked, however often the event is recorded again.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu_driver/latch.hpp"

namespace flotilla::cpu_driver {

/// One record of an event.
class occurrence {
 public:
  using clock = std::chrono::steady_clock;

  /// Of `parts` streams: it has happened when the last of them has got there.
  explicit occurrence(bool timed, int parts = 1) noexcept : timed_(timed), missing_(parts) {}

  /// acquire: pairs with the release in happen()
  [[nodiscard]] bool passed() const noexcept {
    return (state_.load(std::memory_order_acquire) & done) != 0;
  }

  /// For a device that would have to wait: true when passed, else it will be nudged. One atomic
  /// step asks and announces, so that no occurrence falls between the two.
  [[nodiscard]] bool watch() noexcept {
    return passed() || (state_.fetch_or(watched, std::memory_order_acq_rel) & done) != 0;
  }

  /// The stream has got there.
  void happen() noexcept;
  /// The stream never will: a fault has emptied it. Releases who waits; they ask for the fault
  /// next.
  void drop() noexcept { happen(); }

  void wait(wait_policy policy) noexcept { latch_.wait(policy); }

  /// Only after passed().
  [[nodiscard]] clock::time_point when() const noexcept { return when_; }

 private:
  static constexpr unsigned done = 1;
  static constexpr unsigned watched = 2;

  std::atomic<unsigned> state_{0};
  bool const timed_;
  std::atomic<int> missing_;  // streams that have not got there
  clock::time_point when_{};  // written before done is set
  latch latch_{1};
};

class event {
 public:
  event(CUevent self, CUcontext owner, unsigned flags) noexcept
      : self_(self), owner_(owner), flags_(flags) {}

  [[nodiscard]] CUevent self() const noexcept { return self_; }
  [[nodiscard]] CUcontext owner() const noexcept { return owner_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & CU_EVENT_DISABLE_TIMING) == 0; }
  [[nodiscard]] bool blocking() const noexcept { return (flags_ & CU_EVENT_BLOCKING_SYNC) != 0; }

  /// The latest record; null when never recorded.
  [[nodiscard]] std::shared_ptr<occurrence> latest() const {
    std::lock_guard const lock(mutex_);
    return latest_;
  }
  void set_latest(std::shared_ptr<occurrence> recorded) {
    std::lock_guard const lock(mutex_);
    latest_.swap(recorded);  // the older one dies outside the lock
  }

 private:
  CUevent const self_;
  CUcontext const owner_;
  unsigned const flags_;
  std::mutex mutable mutex_;
  std::shared_ptr<occurrence> latest_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
