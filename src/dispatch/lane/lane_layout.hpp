// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lanes of a device, and which tasks go to which lane.

#include <cstdint>

#include "dispatch/task/priority.hpp"

namespace flotilla::dispatch {

/// A range of consecutive lanes.
struct lane_range {
  unsigned first;
  unsigned count;
  [[nodiscard]] constexpr bool contains(unsigned lane) const noexcept {
    return lane >= first && lane < first + count;
  }
};

/// Launches, callables and copies never share a lane. Small copies and fills that a kernel executes
/// (kernel_copies) are launches here. Each priority level has its own lanes for launches and
/// callables. The streams of these lanes have the level's priority. There are no urgent lanes for
/// copies, because a stream's priority does not affect copy engines.
namespace lane_layout {

inline constexpr unsigned launch_lanes = 32;
// copies to the device, and fills
inline constexpr unsigned upload_lane = launch_lanes;
inline constexpr unsigned download_lane = upload_lane + 1;  // copies to the host
// Copies of pageable memory have lanes of their own. Nothing in these lanes waits for other
// streams, so a copy that is ready goes on even if a copy in the other lanes is not.
inline constexpr unsigned staged_upload_lane = download_lane + 1;
inline constexpr unsigned staged_download_lane = staged_upload_lane + 1;
inline constexpr unsigned first_urgent = staged_download_lane + 1;
inline constexpr unsigned urgent_launch_lanes = 4;  // of each urgent level
// The lanes from here on take callables only, so no batch of launches is ever open for them.
inline constexpr unsigned first_callable = first_urgent + max_priority_level * urgent_launch_lanes;
inline constexpr unsigned callable_lanes = 8;  // as many as a context has connections to the GPU
inline constexpr unsigned urgent_callable_lanes = 4;  // of each urgent level
inline constexpr unsigned all_lanes =
    first_callable + callable_lanes + max_priority_level * urgent_callable_lanes;
inline constexpr unsigned no_lane = all_lanes;
static_assert(first_callable <= 64, "sets of lanes with open batches are 64-bit words");
static_assert(all_lanes <= 256, "an end_mark has eight bits for the lane");

[[nodiscard]] constexpr lane_range launch_lanes_of(priority_level level) noexcept {
  return level == 0
             ? lane_range{0, launch_lanes}
             : lane_range{first_urgent + (level - 1) * urgent_launch_lanes, urgent_launch_lanes};
}
[[nodiscard]] constexpr lane_range callable_lanes_of(priority_level level) noexcept {
  return level == 0
             ? lane_range{first_callable, callable_lanes}
             : lane_range{first_callable + callable_lanes + (level - 1) * urgent_callable_lanes,
                          urgent_callable_lanes};
}
[[nodiscard]] constexpr priority_level level_of(unsigned lane) noexcept {
  constexpr unsigned urgent_callables = first_callable + callable_lanes;
  if (lane >= urgent_callables) {
    return static_cast<priority_level>(1 + (lane - urgent_callables) / urgent_callable_lanes);
  }
  bool const is_urgent = lane >= first_urgent && lane < first_callable;
  return static_cast<priority_level>(is_urgent ? 1 + (lane - first_urgent) / urgent_launch_lanes
                                               : 0);
}
[[nodiscard]] constexpr bool takes_launches(unsigned lane) noexcept {
  return launch_lanes_of(level_of(lane)).contains(lane);
}
/// Returns whether user code may use the lane's stream.
[[nodiscard]] constexpr bool takes_callables(unsigned lane) noexcept {
  return callable_lanes_of(level_of(lane)).contains(lane);
}
/// The set of all lanes for launches.
inline constexpr std::uint64_t launch_lane_set = [] {
  std::uint64_t set = 0;
  for (unsigned lane = 0; lane < first_callable; ++lane) {
    set |= std::uint64_t{takes_launches(lane)} << lane;
  }
  return set;
}();
/// The set of the lanes for urgent launches.
inline constexpr std::uint64_t urgent_lane_set =
    launch_lane_set & (~std::uint64_t{0} << first_urgent);

}  // namespace lane_layout

}  // namespace flotilla::dispatch
