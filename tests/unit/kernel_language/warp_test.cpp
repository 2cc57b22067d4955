// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Warp operations: shuffles, votes, matches and reductions.
#include <functional>
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr unsigned two_warps = 64;

// Checks the result of every thread for every width. According to CUDA's guide, each thread must
// get the value of one lane. `source` returns this lane.
void expect_shuffle(char const* kernel, auto distance,
                    std::function<int(int lane, int width)> source, int factor = 1) {
  kernel_runner runner;
  for (int const width : {32, 16, 8, 4, 2, 1}) {
    std::vector<int> out(two_warps, -1);
    ASSERT_EQ(runner.run(kernel, blocks_of(1, two_warps), out.data(), distance, width),
              grid_end::completed);
    for (int i = 0; i < static_cast<int>(two_warps); ++i) {
      int const warp = i / 32 * 32;
      ASSERT_EQ(out[static_cast<std::size_t>(i)], factor * (warp + source(i % 32, width)))
          << kernel << " thread " << i << " width " << width;
    }
  }
}

TEST(Shuffle, ReadsALaneOfTheSameGroup) {
  for (int const lane : {0, 5, 31, 37}) {
    expect_shuffle(
        "shuffle_index", lane,
        [=](int own, int width) { return own / width * width + lane % width; }, 10);
  }
}

TEST(Shuffle, UpAndDownKeepTheirOwnAtTheEnds) {
  for (unsigned const delta : {0u, 1u, 3u, 16u}) {
    int const d = static_cast<int>(delta);
    expect_shuffle("shuffle_up", delta,
                   [=](int own, int width) { return own % width >= d ? own - d : own; });
    expect_shuffle("shuffle_down", delta,
                   [=](int own, int width) { return own % width + d < width ? own + d : own; });
  }
}

TEST(Shuffle, XorReadsEarlierGroupsButNotLaterOnes) {
  for (int const lanes : {1, 2, 7, 16, 31}) {
    expect_shuffle("shuffle_xor", lanes, [=](int own, int width) {
      int const other = own ^ lanes;
      return other / width <= own / width ? other : own;
    });
  }
}

TEST(Shuffle, CarriesEveryArithmeticType) {
  kernel_runner runner;
  std::vector<int> out(two_warps);
  ASSERT_EQ(runner.run("shuffle_types", blocks_of(1, two_warps), out.data()), grid_end::completed);
  EXPECT_EQ(out, std::vector<int>(two_warps, 1));
}

TEST(Shuffle, DisjointMasksProceedIndependently) {
  kernel_runner runner;
  std::vector<int> out(two_warps);
  ASSERT_EQ(runner.run("halves_apart", blocks_of(1, two_warps), out.data()), grid_end::completed);
  for (unsigned i = 0; i < two_warps; ++i) { EXPECT_EQ(out[i], i % 32 < 16 ? 120 : 376); }
}

TEST(Shuffle, MaskWithoutTheCallerEndsAsATrap) {
  kernel_runner runner;
  int out = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(runner.run("mask_without_caller", blocks_of(1, 32), &out), grid_end::trapped);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("does not include the calling"),
            std::string::npos);
}

TEST(Vote, CountsThePredicatesOfItsWarp) {
  kernel_runner runner;
  for (unsigned const truth : {0u, 1u, 0xdeadbeefu, 0xffffffffu}) {
    std::vector<unsigned> ballot(two_warps);
    std::vector<int> any(two_warps), all(two_warps);
    ASSERT_EQ(
        runner.run("votes", blocks_of(1, two_warps), ballot.data(), any.data(), all.data(), truth),
        grid_end::completed);
    EXPECT_EQ(ballot, std::vector<unsigned>(two_warps, truth));
    EXPECT_EQ(any, std::vector<int>(two_warps, truth != 0));
    EXPECT_EQ(all, std::vector<int>(two_warps, truth == 0xffffffffu));
  }
}

TEST(Vote, LanesThatDoNotExistOrHaveExitedAreNotWaitedFor) {
  kernel_runner runner;
  std::vector<unsigned> out(40);
  ASSERT_EQ(runner.run("vote_of_those_left", blocks_of(1, 40), out.data()), grid_end::completed);
  EXPECT_EQ(out[0], 0x55555555u);
  EXPECT_EQ(out[1], 0u);
  EXPECT_EQ(out[32], 0x55u);
}

TEST(Match, NamesTheLanesWithTheSameValue) {
  kernel_runner runner;
  std::vector<unsigned> any(32), all(32);
  std::vector<int> equal(32);
  ASSERT_EQ(runner.run("matches", blocks_of(1, 32), any.data(), all.data(), equal.data(), 2),
            grid_end::completed);
  EXPECT_EQ(any[0], 0x55555555u);
  EXPECT_EQ(any[1], 0xaaaaaaaau);
  EXPECT_EQ(all[3], 0u);
  EXPECT_EQ(equal[3], 0);
  ASSERT_EQ(runner.run("matches", blocks_of(1, 32), any.data(), all.data(), equal.data(), 1),
            grid_end::completed);
  EXPECT_EQ(all[3], 0xffffffffu);
  EXPECT_EQ(equal[3], 1);
}

TEST(Reduce, CombinesItsWarpFromDifferentPlacesInTheSource) {
  kernel_runner runner;
  std::vector<int> out(6);
  ASSERT_EQ(runner.run("reductions", blocks_of(1, 32), out.data()), grid_end::completed);
  EXPECT_EQ(out, (std::vector<int>{-16, -16, 15, -1, 0, -2}));
}

TEST(ActiveMask, NamesTheCallingLane) {
  kernel_runner runner;
  std::vector<unsigned> out(40);
  ASSERT_EQ(runner.run("active_lanes", blocks_of(1, 40), out.data()), grid_end::completed);
  for (unsigned i = 0; i < 40; ++i) { EXPECT_EQ(out[i], 1u << i % 32); }
}

}  // namespace
}  // namespace flotilla::cpu_driver
