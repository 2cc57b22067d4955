// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the thread that drives a device tells a trace.

#include <array>
#include <chrono>
#include <cstdint>

#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/lane_layout.hpp"

namespace flotilla::dispatch {

/// The host knows when it has launched a batch, and when it has seen the end of the batch. A lane
/// runs its batches in order. So a batch begins no earlier than its launch, and no earlier than the
/// end of the batch before it.
///
/// A *look* finds ended batches. It may find several of one lane. Which of them ended when is not
/// known, so all of them end at the time of the look, and none of them is known to have waited for
/// another one of the same look.
///
/// Call the functions only if the trace is active. Threads: only the holder of the device's lease.
class device_trace {
 public:
  using clock = std::chrono::steady_clock;

  device_trace(runtime_parts const& shared, unsigned device) noexcept
      : shared_(shared), device_(device) {}

  /// A look has found that a batch has ended. The caller ends its tasks next.
  /// @param may_fail  Whether a task of the batch may have failed.
  void note_batch(lane const& of, lane::batch const& batch, bool may_fail) noexcept;
  /// Ends a look. May be called at any time.
  void end_look() noexcept { is_looking_ = false; }

  /// The thread has driven the device since `begun`.
  void note_drive(clock::time_point begun) noexcept;
  struct counters {
    std::uint64_t queued;     // tasks in inboxes, or without room in a lane
    std::uint64_t in_flight;  // launches
    std::uint64_t memory;     // bytes of buffers
  };
  void note_counters(counters const& values) noexcept;

 private:
  struct lane_times {
    std::uint64_t look = 0;       // the last look that has found a batch of the lane
    std::int64_t end = 0;         // of that look
    std::int64_t end_before = 0;  // of the look before it
  };

  runtime_parts const& shared_;
  unsigned const device_;
  bool is_looking_ = false;
  std::uint64_t look_ = 0;
  std::int64_t look_end_ = 0;
  std::array<lane_times, lane_layout::all_lanes> lanes_{};
};

}  // namespace flotilla::dispatch
