// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events. Each call that records an event creates a separate event_record. A call that waits for an
// event waits for the record that is the latest during the call, even if the event is recorded
// again later.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/base/latch.hpp"

namespace flotilla::cpu_driver {

/// One record of an event. Thread-safe.
class event_record {
 public:
  using clock = std::chrono::steady_clock;

  /// `streams` is the number of streams that must reach the record. The record completes after one
  /// call of complete() for each of these streams.
  explicit event_record(bool timed, int streams = 1) noexcept : timed_(timed), pending_(streams) {}

  // acquire: pairs with the release in complete()
  [[nodiscard]] bool completed() const noexcept {
    return (state_.load(std::memory_order_acquire) & done) != 0;
  }

  /// Returns true if the record has completed. Otherwise requests that all devices are woken when
  /// the record completes. The check and the request are one atomic operation, so no completion is
  /// missed.
  [[nodiscard]] bool watch() noexcept {
    return completed() || (state_.fetch_or(watched, std::memory_order_acq_rel) & done) != 0;
  }

  /// Counts one stream that has reached the record.
  void complete() noexcept;
  /// Counts one stream that will never reach the record, for example after a fault. Waiting threads
  /// check for a fault after the wait.
  void abandon() noexcept { complete(); }

  void wait(spin_times times) noexcept { latch_.wait(times); }

  /// Time of the completion. Valid only if the record is timed and completed() is true.
  [[nodiscard]] clock::time_point time() const noexcept { return time_; }

 private:
  static constexpr unsigned done = 1;
  static constexpr unsigned watched = 2;

  std::atomic<unsigned> state_{0};
  bool const timed_;
  std::atomic<int> pending_;  // number of streams that have not reached the record
  clock::time_point time_{};  // written before `done` is set in `state_`
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
