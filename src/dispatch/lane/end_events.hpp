// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events that mark the ends of some batches of a device.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "driver/table.hpp"

namespace flotilla::dispatch {

/// An event costs the host more than a completion number, but it slows down no other work of the
/// device. A stream that waits for a number polls for it, and a write of a number holds up kernels
/// in other streams. With 16 bands of a stencil on two H200s, whose kernels fill the GPUs, streams
/// that wait for numbers reach 6.3 TB/s, and with events 7.8 TB/s. With 8 bands, writes behind all
/// kernels cost a tenth (docs/results/h200x2-heat.txt).
///
/// So nothing in the stream writes the number of a batch with an event. Whoever needs to know
/// whether the batch has ended queries the event, and stores the number
/// (completion_board::reached, lane::done).
///
/// A thread may look for an event while the owner records it again, or while the runtime ends
/// (tests/unit/dispatch/lane/end_events_model_test.cpp).
class end_events {
 public:
  /// @param lanes  The number of lanes of the device.
  end_events(driver::table const& api, unsigned lanes)
      : api_(api), entries_(std::size_t{lanes} * ring) {}

  /// Records an event behind the work in the stream of a lane: the work of batch `number`. Call it
  /// before other threads can know that the batch is launched.
  /// @param reached  The completion number of the lane.
  /// @return the event, or null if the event may still be needed for another batch, or if the
  /// driver has refused.
  /// Threads: only the holder of the device's lease, with the context current.
  [[nodiscard]] CUevent record(unsigned lane, std::uint64_t number, std::uint64_t reached,
                               CUstream stream) noexcept {
    entry& one = at(lane, number);
    if (one.number.load(std::memory_order_relaxed) > reached) { return nullptr; }
    CUevent event = one.event.load(std::memory_order_relaxed);
    if (event == nullptr) {
      if (api_.event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) { return nullptr; }
      one.event.store(event, std::memory_order_relaxed);
    }
    if (api_.event_record(event, stream) != CUDA_SUCCESS) { return nullptr; }
    // release: pairs with the load in has_ended. stuck_devices asks without the mark of a task.
    one.number.store(number, std::memory_order_release);
    is_used_.store(true, std::memory_order_relaxed);
    return event;
  }
  /// Returns the event of a batch, or null if it has none. If the batch has ended, the event may be
  /// recorded again meanwhile. A stream then waits for a batch that was launched earlier than what
  /// follows the wait, so it waits longer than necessary, but not forever.
  /// Threads: any.
  [[nodiscard]] CUevent find(unsigned lane, std::uint64_t number) const noexcept {
    // relaxed: a thread that knows that the batch is launched sees what the owner stored before
    if (!is_used_.load(std::memory_order_relaxed)) { return nullptr; }
    entry const& one = at(lane, number);
    if (one.number.load(std::memory_order_relaxed) != number) { return nullptr; }
    return one.event.load(std::memory_order_relaxed);
  }
  /// Returns whether a batch has an event that is complete. Then the batch has ended. Threads: any,
  /// even while another thread ends the runtime.
  [[nodiscard]] bool has_ended(unsigned lane, std::uint64_t number) const noexcept {
    if (find(lane, number) == nullptr) { return false; }
    // Count this thread, and then look again: `forget` waits for threads that found an event.
    users_.fetch_add(1, std::memory_order_seq_cst);
    entry const& one = at(lane, number);
    CUevent const event = one.number.load(std::memory_order_seq_cst) == number
                              ? one.event.load(std::memory_order_relaxed)
                              : nullptr;
    bool const ended = event != nullptr && api_.event_query(event) == CUDA_SUCCESS;
    users_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in forget
    return ended;
  }
  /// Makes `has_ended` return false from now on, and waits for threads that query an event. Call it
  /// when no task is left that could end with an event, before the context is destroyed.
  void forget() noexcept {
    for (entry& each : entries_) { each.number.store(0, std::memory_order_seq_cst); }
    while (users_.load(std::memory_order_seq_cst) != 0) { std::this_thread::yield(); }
  }
  /// Destroys the events. Call it with the context current.
  void destroy() noexcept {
    forget();
    for (entry& each : entries_) {
      if (CUevent const event = each.event.exchange(nullptr, std::memory_order_relaxed)) {
        api_.event_destroy(event);
      }
    }
  }

 private:
  static constexpr std::size_t ring = 8;  // events of a lane
  struct entry {
    std::atomic<std::uint64_t> number{0};  // of the batch, 0: none
    std::atomic<CUevent> event{nullptr};
  };
  [[nodiscard]] entry& at(unsigned lane, std::uint64_t number) noexcept {
    return entries_[lane * ring + number % ring];
  }
  [[nodiscard]] entry const& at(unsigned lane, std::uint64_t number) const noexcept {
    return entries_[lane * ring + number % ring];
  }

  driver::table const& api_;
  std::vector<entry> entries_;
  std::atomic<bool> is_used_{false};   // whether an event was ever recorded
  mutable std::atomic<int> users_{0};  // the number of threads in has_ended
};

}  // namespace flotilla::dispatch
