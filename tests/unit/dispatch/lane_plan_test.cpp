// Which lane takes what.

#include "dispatch/lane_plan.hpp"

#include <gtest/gtest.h>

namespace flotilla::dispatch {
namespace {

// requirement: a lane has one use, and every lane has one
TEST(LanePlan, GivesEveryLaneOneUse) {
  for (unsigned lane = 0; lane < lane_plan::all_lanes; ++lane) {
    unsigned uses = lane == lane_plan::up_lane || lane == lane_plan::down_lane ? 1 : 0;
    for (unsigned level = 0; level < urgencies; ++level) {
      auto const of = static_cast<urgency>(level);
      bool const launches = lane_plan::is_in(lane, lane_plan::launches_of(of));
      bool const works = lane_plan::is_in(lane, lane_plan::works_of(of));
      uses += (launches ? 1u : 0u) + (works ? 1u : 0u);
      if (launches || works) {
        EXPECT_EQ(lane_plan::level_of(lane), of) << lane;
        EXPECT_EQ(lane_plan::takes_launches(lane), launches) << lane;
        EXPECT_EQ(lane_plan::takes_work(lane), works) << lane;
        EXPECT_EQ(lane >= lane_plan::of_urgent, level > 0) << lane;
      }
    }
    EXPECT_EQ(uses, 1u) << lane;
    EXPECT_EQ((lane_plan::all_that_take_launches >> lane & 1) != 0, lane_plan::takes_launches(lane)) << lane;
  }
}

// requirement: as CUDA counts, and clamps
TEST(LanePlan, LevelsArePrioritiesTurned) {
  EXPECT_EQ(urgency_of(0), 0);
  EXPECT_EQ(urgency_of(3), 0);
  EXPECT_EQ(urgency_of(-1), 1);
  EXPECT_EQ(urgency_of(-5), most_urgent);
  EXPECT_EQ(urgency_of(-2'000'000'000), most_urgent);
  EXPECT_EQ(priority_of(most_urgent), -5);
}

}  // namespace
}  // namespace flotilla::dispatch
