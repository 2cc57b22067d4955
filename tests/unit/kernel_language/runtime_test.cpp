// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// printf, malloc, assert, trap and clocks in kernels.
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

TEST(Printf, FormatsAndCountsItsArguments) {
  kernel_runner runner;
  ASSERT_EQ(runner.run("say", blocks_of(1, 1), 42), grid_end::completed);
  EXPECT_EQ(runner.printed(), "block 0 thread 0: 42 text 1.50%\n5\nplain\n");
}

TEST(Printf, TakesTextsOfAnyLength) {
  kernel_runner runner;
  for (std::size_t const length : {0u, 510u, 511u, 512u, 513u, 5000u}) {
    kernel_runner fresh;
    std::string const text(length, 'x');
    ASSERT_EQ(fresh.run("say_much", blocks_of(1, 1), text.c_str()), grid_end::completed);
    EXPECT_EQ(fresh.printed(), text + "|");
  }
}

TEST(Malloc, GoesToTheDevicesHeap) {
  kernel_runner runner;
  int failed = 0;
  ASSERT_EQ(runner.run("allocate", blocks_of(2, 100), &failed), grid_end::completed);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(runner.allocated(), 0);
  runner.heap_is_full();
  ASSERT_EQ(runner.run("allocate", blocks_of(2, 100), &failed), grid_end::completed);
  EXPECT_EQ(failed, 200);
}

TEST(Malloc, OutlivesTheKernel) {
  kernel_runner runner;
  int* kept = nullptr;
  ASSERT_EQ(runner.run("allocate_and_keep", blocks_of(1, 1), &kept), grid_end::completed);
  EXPECT_EQ(runner.allocated(), 1);
  std::free(kept);
}

TEST(Trap, EndsTheGridWhereverItIsReached) {
  kernel_runner runner;
  for (unsigned const which : {0u, 1u, 31u, 63u}) {
    int after = 0;
    EXPECT_EQ(runner.run("trap_in_thread", blocks_of(3, 64), which, &after), grid_end::trapped);
    EXPECT_EQ(after, 0);
    EXPECT_EQ(runner.run("trap_in_thread", blocks_of(3, 64), 64u, &after), grid_end::completed);
    EXPECT_EQ(after, 3 * 64);
  }
}

TEST(Trap, KeepsOtherBlocksFromBeginning) {
  kernel_runner runner;
  unsigned ran = 0;
  EXPECT_EQ(runner.run("trap_in_block", blocks_of(100000, 1), 20u, &ran), grid_end::trapped);
  EXPECT_LT(ran, 1000u);
}

TEST(Assert, EndsTheGridAndSaysWhere) {
  kernel_runner runner;
  int passed = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(runner.run("assert_less", blocks_of(1, 32), 5u, &passed), grid_end::assert_failed);
  std::string const told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("runtime.cu"), std::string::npos) << told;
  EXPECT_NE(told.find("thread: [5,0,0] Assertion `threadIdx.x < limit` failed."), std::string::npos)
      << told;
  EXPECT_EQ(passed, 5);
}

TEST(Clock, Advances) {
  kernel_runner runner;
  unsigned long long out[2] = {};
  ASSERT_EQ(runner.run("times", blocks_of(1, 1), &out[0]), grid_end::completed);
  EXPECT_GE(out[0], 1'000'000u);
  EXPECT_EQ(out[1], 1u);
}

}  // namespace
}  // namespace flotilla::cpu_driver
