// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The launches that fill a device for long.

#include <cstdint>

#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

/// Knows whether launches that fill the device are in flight. Meanwhile, a short kernel may have to
/// wait for all blocks of such a launch, but a copy engine need not wait. And streams wait for
/// events, not for numbers (end_events).
///
/// Threads: only the holder of the device's lease, with the context current.
class filling_launches {
 public:
  /// @param numbers_only  Whether all batches end with numbers. After the loss of an isolated
  /// device, the host must know which batches have ended, and events do not tell.
  filling_launches(lane_set const& lanes, completion_board const& board,
                   bool numbers_only = false) noexcept
      : lanes_(lanes), board_(board), numbers_only_(numbers_only) {}

  /// Records that the lane gets such a launch.
  void note(unsigned lane) noexcept { last_lane_ = lane; }
  /// Returns whether the lane got the last such launch.
  [[nodiscard]] bool is_last(unsigned lane) const noexcept { return last_lane_ == lane; }
  /// Returns whether the lane that got the last such launch has work.
  [[nodiscard]] bool are_in_flight() const noexcept {
    return last_lane_ != lane_layout::no_lane && lanes_[last_lane_].in_flight() != 0;
  }
  /// Commits the batch that was begun in the lane, and enqueues what marks its end: an event if
  /// such launches are in flight, or else a write of the number. Call it before other threads can
  /// know that the batch is launched.
  /// @return the driver's status, as lane::commit_with_write
  [[nodiscard]] CUresult commit(lane& lane, std::uint64_t number) const {
    if (are_in_flight() && !numbers_only_) {
      std::uint64_t const reached = board_.page(lanes_.device()).number(lane.index());
      end_events& events = board_.events_of(lanes_.device());
      if (CUevent const end = events.record(lane.index(), number, reached, lane.stream())) {
        lane.commit_with_event(end);
        return CUDA_SUCCESS;
      }
    }
    return lane.commit_with_write();
  }

 private:
  lane_set const& lanes_;
  completion_board const& board_;
  bool const numbers_only_;
  unsigned last_lane_ = lane_layout::no_lane;
};

}  // namespace flotilla::dispatch
