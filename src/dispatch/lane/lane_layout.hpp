#pragma once
// Which lanes a device has, and what goes where: by kind of task, and by its level of urgency.

#include <cstdint>

#include "dispatch/urgency.hpp"

namespace flotilla::dispatch {

/// Lanes that stand side by side.
struct lane_range {
  unsigned first;
  unsigned count;
};

/// Launches, callables and copies never share a lane. What is not urgent has the lanes below `of_urgent`; above there
/// are some for each level, higher the more urgent it is, whose streams have that priority. Copies have none there: for
/// them priorities of streams mean nothing.
namespace lane_plan {

inline constexpr unsigned launch_lanes = 32;
inline constexpr unsigned work_lanes = 4;
inline constexpr unsigned up_lane = launch_lanes + work_lanes;
inline constexpr unsigned down_lane = up_lane + 1;
inline constexpr unsigned of_urgent = down_lane + 1;
inline constexpr unsigned urgent_launch_lanes = 4;
inline constexpr unsigned urgent_work_lanes = 1;
inline constexpr unsigned a_level = urgent_launch_lanes + urgent_work_lanes;
inline constexpr unsigned all_lanes = of_urgent + most_urgent * a_level;
inline constexpr unsigned no_lane = all_lanes;
static_assert(all_lanes <= 64, "sets of lanes are words");

[[nodiscard]] constexpr lane_range launches_of(urgency level) noexcept {
  return level == 0 ? lane_range{0, launch_lanes} : lane_range{of_urgent + (level - 1) * a_level, urgent_launch_lanes};
}
[[nodiscard]] constexpr lane_range works_of(urgency level) noexcept {
  return level == 0 ? lane_range{launch_lanes, work_lanes}
                    : lane_range{of_urgent + (level - 1) * a_level + urgent_launch_lanes, urgent_work_lanes};
}
[[nodiscard]] constexpr urgency level_of(unsigned lane) noexcept {
  return lane < of_urgent ? urgency{0} : static_cast<urgency>(1 + (lane - of_urgent) / a_level);
}
[[nodiscard]] constexpr bool is_in(unsigned lane, lane_range of) noexcept {
  return lane >= of.first && lane < of.first + of.count;
}
[[nodiscard]] constexpr bool takes_launches(unsigned lane) noexcept { return is_in(lane, launches_of(level_of(lane))); }
/// Whether user code has, or may have, this lane's stream in its hands.
[[nodiscard]] constexpr bool takes_work(unsigned lane) noexcept { return is_in(lane, works_of(level_of(lane))); }
/// As a set of lanes.
inline constexpr std::uint64_t all_that_take_launches = [] {
  std::uint64_t set = 0;
  for (unsigned lane = 0; lane < all_lanes; ++lane) { set |= std::uint64_t{takes_launches(lane)} << lane; }
  return set;
}();

}  // namespace lane_plan

}  // namespace flotilla::dispatch
