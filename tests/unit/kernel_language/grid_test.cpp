// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Grids: every block runs exactly once, on any of several threads.
#include <thread>
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

TEST(Grid, EveryThreadOfEveryBlockRunsOnce) {
  kernel_runner runner;
  for (shape const& s : {shape{}, shape{{7, 5, 3}, {4, 2, 8}, 0}, shape{{1, 1, 9}, {1, 1, 64}, 0},
                         shape{{20000, 1, 1}, {3, 1, 1}, 0}, shape{{2, 300, 1}, {1024, 1, 1}, 0}}) {
    std::size_t const total =
        std::size_t{s.grid.x} * s.grid.y * s.grid.z * s.block.x * s.block.y * s.block.z;
    std::vector<unsigned> counts(total);
    ASSERT_EQ(runner.run("mark_all", s, counts.data()), grid_end::completed);
    EXPECT_EQ(counts, std::vector<unsigned>(total, 1));
  }
}

// The grid takes so long that the driver asks workers for help.
TEST(Grid, BlocksAreSharedWithWorkers) {
  kernel_runner runner;
  std::vector<unsigned> counts(400);
  ASSERT_EQ(runner.run("slow_blocks", blocks_of(400, 1), counts.data(), 50'000ull),
            grid_end::completed);
  EXPECT_EQ(counts, std::vector<unsigned>(400, 1));
}

// stress: several device threads run grids at the same time, and all need the same few workers
TEST(Grid, ManyAtOnceShareTheWorkers) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      kernel_runner runner;
      for (int i = 0; i < 50; ++i) {
        std::vector<unsigned> counts(60);
        ASSERT_EQ(runner.run("slow_blocks", blocks_of(60, 1), counts.data(), 5'000ull),
                  grid_end::completed);
        ASSERT_EQ(counts, std::vector<unsigned>(60, 1));
        unsigned ran = 0;
        if (i % 10 == 0) {
          ASSERT_EQ(runner.run("trap_in_block", blocks_of(50, 1), 30u, &ran), grid_end::trapped);
        }
      }
    });
  }
  for (std::thread& t : threads) { t.join(); }
}

}  // namespace
}  // namespace flotilla::cpu_driver
