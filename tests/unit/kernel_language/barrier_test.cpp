// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Barriers, shared memory, and threads that wait for other threads of their block.
#include <numeric>
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

TEST(Barrier, ThreadsMeetAtEveryRoundOfALoop) {
  kernel_runner runner;
  for (int const threads : {1, 2, 31, 32, 33, 256, 1024}) {
    constexpr int blocks = 3, times = 5;
    std::vector<int> data(static_cast<std::size_t>(blocks * threads));
    std::iota(data.begin(), data.end(), 0);
    auto const shape = blocks_of(blocks, static_cast<std::uint32_t>(threads));
    ASSERT_EQ(runner.run("rotate_often", shape, data.data(), times), grid_end::completed);
    for (int b = 0; b < blocks; ++b) {
      for (int i = 0; i < threads; ++i) {
        ASSERT_EQ(data[static_cast<std::size_t>(b * threads + i)],
                  b * threads + (i + times) % threads);
      }
    }
  }
}

TEST(Barrier, ExitedThreadsCountAsArrived) {
  kernel_runner runner;
  constexpr int threads = 70;
  std::vector<int> seen(threads);
  ASSERT_EQ(runner.run("leave_one_by_one", blocks_of(1, threads), seen.data()),
            grid_end::completed);
  for (int round = 0; round < threads; ++round) {
    EXPECT_EQ(seen[static_cast<std::size_t>(round)], threads - round) << round;
  }
}

TEST(Barrier, ReducesThePredicate) {
  kernel_runner runner;
  constexpr unsigned threads = 100;
  for (unsigned const truth : {0u, 1u, 99u, 100u}) {
    std::vector<int> count(threads), all(threads), any(threads);
    ASSERT_EQ(runner.run("reduce_at_barrier", blocks_of(1, threads), count.data(), all.data(),
                         any.data(), truth),
              grid_end::completed);
    EXPECT_EQ(count, std::vector<int>(threads, static_cast<int>(truth)));
    EXPECT_EQ(all, std::vector<int>(threads, truth == threads));
    EXPECT_EQ(any, std::vector<int>(threads, truth != 0));
  }
}

TEST(Barrier, ConjunctionLeavesOutExitedThreads) {
  kernel_runner runner;
  std::vector<int> out(64, -1);
  ASSERT_EQ(runner.run("half_exits_then_all", blocks_of(1, 64), out.data()), grid_end::completed);
  for (std::size_t i = 0; i < out.size(); ++i) { EXPECT_EQ(out[i], i % 2 == 0 ? -1 : 1); }
}

TEST(Barrier, IndicesAreAThreadsOwnAfterwards) {
  kernel_runner runner;
  shape const shape{{3, 2, 4}, {5, 6, 7}, 0};
  constexpr unsigned total = 3 * 2 * 4 * 5 * 6 * 7;
  std::vector<unsigned> out(total);
  ASSERT_EQ(runner.run("indices_after_barrier", shape, out.data()), grid_end::completed);
  for (unsigned i = 0; i < total; ++i) { ASSERT_EQ(out[i], i + 1); }
}

TEST(Barrier, DeadlockedBlockEndsAsATrap) {
  kernel_runner runner;
  int flag = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(runner.run("barrier_one_thread_misses", blocks_of(1, 40), &flag), grid_end::trapped);
  std::string const told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("barrier_one_thread_misses"), std::string::npos) << told;
  EXPECT_NE(told.find("39 wait at __syncthreads, 1 wait in warp operations"), std::string::npos)
      << told;
  EXPECT_EQ(flag, 0);

  // After the deadlock of a block, its fibers must be usable again.
  std::vector<int> data(64);
  std::iota(data.begin(), data.end(), 0);
  ASSERT_EQ(runner.run("rotate_often", blocks_of(1, 64), data.data(), 64), grid_end::completed);
  EXPECT_EQ(data[5], 5);
}

TEST(SharedMemory, DynamicIsSharedByTheBlockAndAligned) {
  kernel_runner runner;
  std::vector<int> data(300);
  std::iota(data.begin(), data.end(), 0);
  ASSERT_EQ(runner.run("shared_reversed", {{1, 1, 1}, {300, 1, 1}, 1200}, data.data()),
            grid_end::completed);
  for (int i = 0; i < 300; ++i) { ASSERT_EQ(data[static_cast<std::size_t>(i)], 299 - i); }
  unsigned long long misalignment = 1;
  ASSERT_EQ(runner.run("dynamic_shared_alignment", {{1, 1, 1}, {1, 1, 1}, 20}, &misalignment),
            grid_end::completed);
  EXPECT_EQ(misalignment, 0u);
}

TEST(Waiting, LockHeldByAThreadOfTheBlockIsReleased) {
  kernel_runner runner;
  int lock = 0, data = 0;
  ASSERT_EQ(runner.run("hand_over_by_atomics", blocks_of(4, 50), &lock, &data),
            grid_end::completed);
  EXPECT_EQ(data, 200);
}

TEST(Waiting, SleepLetsTheThreadRunThatIsWaitedFor) {
  kernel_runner runner;
  int flag = 0, out = 0;
  ASSERT_EQ(runner.run("wait_for_last_thread", blocks_of(1, 100), &flag, &out),
            grid_end::completed);
  EXPECT_EQ(out, 100);
}

TEST(Stack, HoldsEveryThreadsFrames) {
  kernel_runner runner;
  std::vector<int> out(512);
  ASSERT_EQ(runner.run("use_stack", blocks_of(1, 512), 3, out.data()), grid_end::completed);
  EXPECT_EQ(out, std::vector<int>(512, 3 * 511 * 256));
}

}  // namespace
}  // namespace flotilla::cpu_driver
