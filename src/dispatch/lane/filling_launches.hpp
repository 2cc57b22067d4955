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
  filling_launches(lane_set const& lanes, completion_board const& board) noexcept
      : lanes_(lanes), board_(board) {}

  /// Records that the lane gets such a launch.
  void note(unsigned lane) noexcept { last_lane_ = lane; }
  /// Returns whether the lane got the last such launch.
  [[nodiscard]] bool is_last(unsigned lane) const noexcept { return last_lane_ == lane; }
  /// Returns whether the lane that got the last such launch has work.
  [[nodiscard]] bool are_in_flight() const noexcept {
    return last_lane_ != lane_layout::no_lane && lanes_[last_lane_].in_flight() != 0;
  }
  /// If such launches are in flight, records an event behind the work of a batch, for which other
  /// lanes can wait. Call it after the batch is committed: when a stream has waited for the event,
  /// the host knows that the batch has ended.
  void record_end(lane const& lane, std::uint64_t number) const noexcept {
    if (!are_in_flight()) { return; }
    std::uint64_t const reached = board_.page(lanes_.device()).number(lane.index());
    board_.events_of(lanes_.device()).record(lane.index(), number, reached, lane.stream());
  }

 private:
  lane_set const& lanes_;
  completion_board const& board_;
  unsigned last_lane_ = lane_layout::no_lane;
};

}  // namespace flotilla::dispatch
