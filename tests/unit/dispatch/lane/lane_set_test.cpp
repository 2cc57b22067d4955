// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The lanes of a CPU device, and what they count. The tests use no runtime.

#include "unit/dispatch/lane/lane_set_test.hpp"

#include <flotilla/error/error.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

namespace flotilla::dispatch {
namespace {

using numbers = std::array<std::size_t, 6>;

numbers numbers_of(launch_counts const& counts) {
  return {counts.launches,       counts.urgent_launches, counts.long_running_batches,
          counts.status_batches, counts.waiting_batches, counts.exchanging_batches};
}

lane::batch batch_of(std::uint32_t tasks) {
  lane::batch made;
  made.count = tasks;
  return made;
}

class LaneSet : public open_lanes_test {};
class LaneSetStart : public lane_set_test {};

// requirement: each batch of a launch lane counts by what it is, until it is removed
TEST_F(LaneSet, CountsEachBatchInFlight) {
  struct row {
    bool lane::batch::*flag;
    numbers counted;
  };
  lane const& usual = lanes_[0];
  for (row const& each : {row{&lane::batch::is_chunk, {3, 0, 0, 0, 0, 0}},
                          row{&lane::batch::long_running, {3, 0, 1, 0, 0, 0}},
                          row{&lane::batch::has_status, {3, 0, 0, 1, 0, 0}},
                          row{&lane::batch::waits_on_device, {3, 0, 0, 0, 1, 0}},
                          row{&lane::batch::exchanges, {3, 0, 0, 0, 0, 1}}}) {
    lane::batch batch = batch_of(3);
    batch.*each.flag = true;
    launch_counts counts;
    counts.add(usual, batch);
    EXPECT_EQ(numbers_of(counts), each.counted);
    counts.remove(usual, batch);
    EXPECT_EQ(numbers_of(counts), numbers{});
  }
}

// requirement: urgent launches count twice, and batches of lanes without launches do not count
TEST_F(LaneSet, CountsByTheLane) {
  lane const& urgent = lanes_[lane_layout::first_urgent];
  launch_counts counts;
  counts.add(urgent, batch_of(3));
  EXPECT_EQ(numbers_of(counts), (numbers{3, 3, 0, 0, 0, 0}));
  lane::batch copy = batch_of(1);
  copy.long_running = copy.has_status = copy.waits_on_device = copy.exchanges = true;
  for (unsigned const index : {lane_layout::upload_lane, lane_layout::first_callable}) {
    counts.remove(lanes_[index], copy);
    EXPECT_EQ(numbers_of(counts), (numbers{3, 3, 0, 0, 0, 0}));
  }
  counts.remove(urgent, batch_of(3));
  EXPECT_EQ(numbers_of(counts), numbers{});
}

// requirement: the launches of level 0 in flight are limited, and urgent ones are not
TEST_F(LaneSet, LimitsTheLaunchesOfLevelZero) {
  constexpr std::uint32_t limit = lane_set::max_launches_in_flight;
  lanes_.add(lanes_[lane_layout::first_urgent], batch_of(limit));
  EXPECT_TRUE(lanes_.has_room(0)) << "urgent launches do not count here";
  lanes_.add(lanes_[0], batch_of(limit - 1));
  EXPECT_TRUE(lanes_.has_room(0));
  lanes_.add(lanes_[1], batch_of(1));
  EXPECT_FALSE(lanes_.has_room(0));
  EXPECT_TRUE(lanes_.has_room(1));
}

// requirement: a lane that has ended several batches took the time for each of them only once
TEST_F(LaneSet, CountsTheTimeOfABatchFromTheEndBefore) {
  using clock = std::chrono::steady_clock;
  lane& first = lanes_[0];
  for (int i = 0; i < 2; ++i) {
    lane::batch& begun = first.begin();
    begun.count = 1;
    first.commit();
    lanes_.add(first, begun);
  }
  EXPECT_FALSE(lanes_.retire([](lane&, lane::batch const&, clock::duration) {}));
  page().raise(0, first.last_number());
  std::vector<clock::duration> times;
  auto const before = clock::now();
  EXPECT_TRUE(lanes_.retire(
      [&](lane&, lane::batch const&, clock::duration took) { times.push_back(took); }));
  auto const after = clock::now();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_LE(times[1], after - before) << "the first batch ended after `before`";
  EXPECT_GE(first.last_end(), before);
  EXPECT_LE(first.last_end(), after);
  EXPECT_EQ(lanes_.launches_in_flight(), 0u);
  EXPECT_FALSE(lanes_.any_busy());
}

// requirement: lanes that cannot be opened leave no stream behind
TEST_F(LaneSetStart, WithoutAStreamLeavesNone) {
  std::size_t const before = driver::cpu_control().live_handles().streams;
  testing::fail_call("cuStreamCreateWithPriority", 5, driver_status::out_of_memory);
  EXPECT_THROW((lane_set{context_, page(), board_, 0, 4, false}), driver_error);
  EXPECT_EQ(driver::cpu_control().live_handles().streams, before);
}

// requirement: lanes that are destroyed leave no stream behind
TEST_F(LaneSetStart, LeavesNoStreamAtItsEnd) {
  std::size_t const before = driver::cpu_control().live_handles().streams;
  lane_set lanes{context_, page(), board_, 0, 4, false};
  EXPECT_GT(driver::cpu_control().live_handles().streams, before);
  lanes.destroy();
  EXPECT_EQ(driver::cpu_control().live_handles().streams, before);
  lanes.destroy();  // does nothing
}

}  // namespace
}  // namespace flotilla::dispatch
