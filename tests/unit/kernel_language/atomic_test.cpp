// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Atomic operations of many blocks. oneTBB workers run some of the blocks.
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::uint32_t blocks = 500, threads = 32;
constexpr std::uint32_t total = blocks * threads;

TEST(Atomic, AddsInEveryTypeAndScope) {
  kernel_runner runner;
  int i = -5;
  unsigned u = 0;
  unsigned long long ull = 1ull << 40;
  float f = 0;
  double d = 0;
  ASSERT_EQ(runner.run("add_all_types", blocks_of(blocks, threads), &i, &u, &ull, &f, &d),
            grid_end::completed);
  EXPECT_EQ(i, static_cast<int>(total) - 5);
  EXPECT_EQ(u, 2 * total);
  EXPECT_EQ(ull, (1ull << 40) + 3 * total);
  EXPECT_EQ(f, static_cast<float>(total));
  EXPECT_EQ(d, 0.5 * total);
}

TEST(Atomic, KeepsExtremes) {
  kernel_runner runner;
  int least = 0, greatest = 0;
  unsigned long long least_wide = ~0ull;
  long long greatest_wide = -100;
  unsigned greatest_unsigned = 0;
  ASSERT_EQ(runner.run("extremes", blocks_of(blocks, threads), &least, &greatest, &least_wide,
                       &greatest_wide, &greatest_unsigned),
            grid_end::completed);
  EXPECT_EQ(least, 1 - static_cast<int>(total));
  EXPECT_EQ(greatest, static_cast<int>(total) - 1);
  EXPECT_EQ(least_wide, 1ull << 40);
  EXPECT_EQ(greatest_wide, static_cast<long long>(total) - 6);
  EXPECT_EQ(greatest_unsigned, 0x80000000u + total - 1);
}

TEST(Atomic, SetsClearsAndFlipsBits) {
  kernel_runner runner;
  unsigned set = 0, cleared = ~0u, flipped = 0x0f0f0f0fu;
  ASSERT_EQ(runner.run("bits_of", blocks_of(blocks + 1, 32), &set, &cleared, &flipped),
            grid_end::completed);
  EXPECT_EQ(set, ~0u);
  EXPECT_EQ(cleared, 0u);
  EXPECT_EQ(flipped, 0xf0f0f0f0u);  // each bit is flipped an odd number of times
}

TEST(Atomic, IncrementsAndDecrementsWrapAtTheLimit) {
  kernel_runner runner;
  unsigned up = 0, down = 0;
  ASSERT_EQ(runner.run("wrap_round", blocks_of(1, 10), &up, &down, 6u), grid_end::completed);
  EXPECT_EQ(up, 10u % 7);
  EXPECT_EQ(down, (7u * 10 - 10) % 7);
}

TEST(Atomic, Subtracts) {
  kernel_runner runner;
  int i = 0;
  unsigned u = total;
  ASSERT_EQ(runner.run("subtract", blocks_of(blocks, threads), &i, &u), grid_end::completed);
  EXPECT_EQ(i, -2 * static_cast<int>(total));
  EXPECT_EQ(u, 0u);
}

TEST(Atomic, ExchangeLosesNothing) {
  kernel_runner runner;
  unsigned place = 0;
  unsigned long long sum = 0;
  ASSERT_EQ(runner.run("exchange_all", blocks_of(blocks, threads), &place, &sum),
            grid_end::completed);
  EXPECT_EQ(sum + place, total * (total + 1ull) / 2);
}

TEST(Atomic, CompareAndSwapLoopsLoseNothing) {
  kernel_runner runner;
  unsigned long long product = 1, expected = 1;
  ASSERT_EQ(runner.run("multiply_by_cas", blocks_of(blocks, threads), &product),
            grid_end::completed);
  for (std::uint32_t i = 0; i < total; ++i) { expected *= 3; }
  EXPECT_EQ(product, expected);
}

TEST(Atomic, FenceOrdersWhatTheLastBlockReads) {
  kernel_runner runner;
  std::vector<unsigned> parts(blocks);
  unsigned ended = 0, sum = 0;
  ASSERT_EQ(runner.run("last_block_adds", blocks_of(blocks, threads), parts.data(), &ended, &sum),
            grid_end::completed);
  EXPECT_EQ(sum, blocks * (blocks + 1) / 2);
}

}  // namespace
}  // namespace flotilla::cpu_driver
