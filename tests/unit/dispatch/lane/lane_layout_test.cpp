// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The rules that assign tasks to lanes.

#include "dispatch/lane/lane_layout.hpp"

#include <gtest/gtest.h>

namespace flotilla::dispatch {
namespace {

// requirement: every lane has exactly one use: uploads, downloads, staged copies, launches or
// callables. Each lane for launches or callables belongs to one priority level.
TEST(LaneLayout, GivesEveryLaneOneUse) {
  for (unsigned lane = 0; lane < lane_layout::all_lanes; ++lane) {
    unsigned uses =
        lane >= lane_layout::upload_lane && lane <= lane_layout::staged_download_lane ? 1 : 0;
    for (unsigned level = 0; level < priority_levels; ++level) {
      auto const of = static_cast<priority_level>(level);
      bool const launches = lane_layout::launch_lanes_of(of).contains(lane);
      bool const callables = lane_layout::callable_lanes_of(of).contains(lane);
      uses += (launches ? 1u : 0u) + (callables ? 1u : 0u);
      if (launches || callables) {
        EXPECT_EQ(lane_layout::level_of(lane), of) << lane;
        EXPECT_EQ(lane_layout::takes_launches(lane), launches) << lane;
        EXPECT_EQ(lane_layout::takes_callables(lane), callables) << lane;
      }
    }
    EXPECT_EQ(uses, 1u) << lane;
    bool const in_set = lane < 64 && (lane_layout::launch_lane_set >> lane & 1) != 0;
    EXPECT_EQ(in_set, lane_layout::takes_launches(lane)) << lane;
    bool const in_urgent_set = lane < 64 && (lane_layout::urgent_lane_set >> lane & 1) != 0;
    EXPECT_EQ(in_urgent_set, lane_layout::takes_launches(lane) && lane_layout::level_of(lane) > 0)
        << lane;
  }
}

// requirement: the priority level is the CUDA priority with the opposite sign, clamped to the
// allowed range
TEST(LaneLayout, LevelsAreNegatedPriorities) {
  EXPECT_EQ(level_of_priority(0), 0);
  EXPECT_EQ(level_of_priority(3), 0);
  EXPECT_EQ(level_of_priority(-1), 1);
  EXPECT_EQ(level_of_priority(-5), max_priority_level);
  EXPECT_EQ(level_of_priority(-2'000'000'000), max_priority_level);
  EXPECT_EQ(priority_of(max_priority_level), -5);
}

}  // namespace
}  // namespace flotilla::dispatch
