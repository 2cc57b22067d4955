// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Sets of lanes.

#include "dispatch/lane/lane_bits.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla::dispatch {
namespace {

// regression: lanes from 64 on shared their bits with lanes below 64, so their batches never ended
TEST(LaneBits, HoldEachLane) {
  for (unsigned lane = 0; lane < lane_layout::all_lanes; ++lane) {
    lane_bits bits;
    EXPECT_TRUE(bits.empty());
    bits.insert(lane);
    EXPECT_FALSE(bits.empty());
    std::vector<unsigned> seen;
    EXPECT_TRUE(bits.visit([&](unsigned each) {
      seen.push_back(each);
      return true;
    }));
    EXPECT_EQ(seen, std::vector{lane});
    EXPECT_EQ(bits.first_word(), lane < 64 ? std::uint64_t{1} << lane : 0);
    bits.erase((lane + 64) % 128);
    EXPECT_FALSE(bits.empty());
    bits.erase(lane);
    EXPECT_TRUE(bits.empty());
  }
}

// requirement: a visit visits all lanes, may erase them, and can stop
TEST(LaneBits, VisitMayEraseAndStop) {
  lane_bits bits;
  for (unsigned lane = 0; lane < lane_layout::all_lanes; lane += 3) { bits.insert(lane); }
  unsigned seen = 0;
  EXPECT_FALSE(bits.visit([&](unsigned) { return ++seen < 5; }));
  EXPECT_EQ(seen, 5u);
  bits.visit([&](unsigned lane) {
    bits.erase(lane);
    return true;
  });
  EXPECT_TRUE(bits.empty());
}

}  // namespace
}  // namespace flotilla::dispatch
