// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events that tell whether a stream that is not empty has ended its first batches.

#include <cuda.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// An event behind the work of a stream, recorded before the stream begins to wait for another one.
/// If the device loses the number of this work, the other stream may wait for that number, so the
/// stream never becomes empty. But then the event is complete. Only runtimes with
/// `runtime_options::stuck_after` record these events, because each costs a driver call.
///
/// Threads: any.
class wait_events {
 public:
  explicit wait_events(context::context_handle const& context) noexcept : context_(context) {}

  /// Records an event behind the work in the stream. The context must be current. If the driver
  /// refuses, or if there is no memory, there is no event.
  /// @param number   The completion number of this work.
  /// @param reached  The number that the lane has reached.
  void record(CUstream stream, std::uint64_t number, std::uint64_t reached) noexcept {
    std::lock_guard const lock{mutex_};
    std::erase_if(recorded_, [&](entry const& each) {
      bool const is_over = each.number <= reached;
      if (is_over) { unused_.push_back(each.event); }  // has room, see below
      return is_over;
    });
    bool const is_recorded = !recorded_.empty() && recorded_.back().number >= number;
    if (number <= reached || is_recorded) { return; }
    try {
      recorded_.reserve(recorded_.size() + 1);
      unused_.reserve(recorded_.size() + unused_.size() + 1);
    } catch (std::bad_alloc const&) { return; }
    if (unused_.empty()) {
      CUevent made = nullptr;
      if (context_.api().event_create(&made, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) { return; }
      unused_.push_back(made);
    }
    if (context_.api().event_record(unused_.back(), stream) != CUDA_SUCCESS) { return; }
    recorded_.push_back({unused_.back(), number});
    unused_.pop_back();
  }
  /// Returns a number, `number` or a greater one, whose work has certainly ended; 0 if there is no
  /// such number.
  [[nodiscard]] std::uint64_t ended_from(std::uint64_t number) noexcept {
    std::lock_guard const lock{mutex_};
    std::uint64_t found = 0;
    for (entry const& each : recorded_) {
      if (each.number < number) { continue; }
      if (context_.api().event_query(each.event) != CUDA_SUCCESS) { break; }
      found = each.number;
    }
    return found;
  }
  /// Destroys the events. The context must be current.
  void destroy() noexcept {
    std::lock_guard const lock{mutex_};
    for (entry const& each : recorded_) { context_.api().event_destroy(each.event); }
    for (CUevent const each : unused_) { context_.api().event_destroy(each); }
    recorded_.clear();
    unused_.clear();
  }

 private:
  struct entry {
    CUevent event;
    std::uint64_t number;
  };
  context::context_handle const& context_;
  std::mutex mutex_;
  std::vector<entry> recorded_;  // sorted by number
  std::vector<CUevent> unused_;
};

}  // namespace flotilla::dispatch
