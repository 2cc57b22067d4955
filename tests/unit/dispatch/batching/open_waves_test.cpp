// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/open_waves.hpp"

#include <gtest/gtest.h>

#include "dispatch/batching/unended_predecessors.hpp"

namespace flotilla::dispatch {
namespace {

void open(open_waves& waves, batch_place where, bool waits_for_device = false) {
  waves.reach(where.wave);
  open_batch& batch = waves.at(where);
  batch.tasks[batch.count++] = 7;
  batch.marks.push_back(end_mark::of(0, 1, 2));
  batch.lanes_before = 1;
  batch.waits = batch.may_grow = true;
  batch.traits.device_wait = waits_for_device ? end_mark::of(1, 0, 1) : end_mark{};
  waves.open(where);
}

// requirement: a closed batch is empty, and a wave without open batches at the end is not in use
TEST(OpenWaves, ClosingABatchEmptiesIt) {
  open_waves waves;
  EXPECT_EQ(waves.count(), 1u);
  EXPECT_EQ(waves.lanes(), 0u);
  open(waves, {0, 3});
  open(waves, {1, 3});
  open(waves, {1, 40});
  EXPECT_EQ(waves.count(), 2u);
  EXPECT_EQ(waves.lanes(), open_waves::bit_of(3) | open_waves::bit_of(40));
  EXPECT_EQ(waves.lanes(0), open_waves::bit_of(3));
  EXPECT_EQ(waves.batches_of(3), 2u);
  waves.close({0, 3});
  EXPECT_EQ(waves.count(), 2u);  // wave 1 still has batches
  EXPECT_FALSE(waves.is_open({0, 3}));
  waves.close({1, 3});
  waves.close({1, 40});
  EXPECT_EQ(waves.count(), 1u);
  EXPECT_EQ(waves.lanes(), 0u);
  waves.reach(1);
  open_batch const& again = waves.at({1, 40});
  EXPECT_EQ(again.count, 0u);
  EXPECT_TRUE(again.marks.empty());
  EXPECT_EQ(again.lanes_before, 0u);
  EXPECT_FALSE(again.waits || again.may_grow);
}

// requirement: close_after closes all later waves, even if a wave between them has no open batch
TEST(OpenWaves, LaterWavesCloseTogether) {
  open_waves waves;
  open(waves, {0, 0});
  open(waves, {1, 5});
  open(waves, {2, 6});
  open(waves, {2, 7});
  waves.close({1, 5});
  waves.close_after(0);
  EXPECT_EQ(waves.count(), 1u);
  EXPECT_TRUE(waves.is_open({0, 0}));
  EXPECT_EQ(waves.lanes(), open_waves::bit_of(0));
}

// requirement: each open batch with a device-side wait counts once
TEST(OpenWaves, CountsDeviceWaits) {
  open_waves waves;
  open(waves, {0, 0}, true);
  waves.open({0, 0});
  open(waves, {0, 1}, true);
  open(waves, {0, 2});
  EXPECT_EQ(waves.device_waits(), 2u);
  waves.close({0, 0});
  waves.close({0, 2});
  EXPECT_EQ(waves.device_waits(), 1u);
  waves.close({0, 1});
  EXPECT_EQ(waves.device_waits(), 0u);
}

// requirement: a lane has one mark, the last one; different devices have different lanes
TEST(UnendedPredecessors, KeepTheLastMarkOfEachLane) {
  unended_predecessors found;
  for (std::uint64_t const number : {5u, 9u, 7u}) {
    found.add_launched(end_mark::of(0, 2, number));
    found.add_launched(end_mark::of(1, 2, number));
  }
  ASSERT_EQ(found.launched.size(), 2u);
  EXPECT_EQ(found.launched[0].number(), 9u);
  EXPECT_EQ(found.launched[1].number(), 9u);
  found.add_open({0, 1});
  found.add_open({1, 1});
  found.add_open({0, 1});
  EXPECT_EQ(found.open.size(), 2u);
  found.clear();
  EXPECT_TRUE(found.launched.empty() && found.open.empty());
}

// requirement: the place of a batch survives the mark of a slot
TEST(BatchMark, HoldsDeviceWaveAndLane) {
  for (unsigned const device : {0u, 63u}) {
    batch_place const where{open_waves::max_waves - 1, lane_layout::first_callable - 1};
    std::uint32_t const mark = batch_mark::of(device, where);
    EXPECT_TRUE(batch_mark::is_on(mark, device));
    EXPECT_FALSE(batch_mark::is_on(mark, device + 1));
    EXPECT_EQ(batch_mark::place(mark), where);
  }
  EXPECT_FALSE(batch_mark::is_on(0, 0));
}

}  // namespace
}  // namespace flotilla::dispatch
