// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recorded tasks: changes between two replays. All launches of one kernel on a level are a grid.

#include "unit/dispatch/recording/recorded_part_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>

namespace flotilla::dispatch {
namespace {

class RecordedPart : public recorded_part_test {};

// requirement: each task runs with the arguments and the grid that were set last for it
TEST_F(RecordedPart, HoldsWhatWasSet) {
  std::array<std::uint32_t, tasks> each{};
  each.fill(1);
  for (std::uint32_t round = 0; round < 30; ++round) {
    std::uint32_t changes = change_lists::none;
    for (std::uint32_t i = round % 5; round % 4 != 3 && i < tasks; i += 1 + round % 6) {
      std::uint32_t const blocks = 1 + (round + i) % 3;
      changes = change(i, adding(i, round * i, blocks), changes);
      each[i] = round * i * blocks;
    }
    ASSERT_EQ(replay(changes), CUDA_SUCCESS);
    for (std::uint32_t i = 0; i < tasks; ++i) {
      ASSERT_EQ(take(i), each[i]) << i << ", round " << round;
    }
  }
  EXPECT_EQ(counting_driver::graphs, 1) << "no change needs a new graph";
}

// requirement: if no replay is in flight, a replay with changes needs no driver call for its grids.
// Grids that were never changed are told once to read the copy on the device
TEST_F(RecordedPart, ChangesOfGridsNeedNoDriverCalls) {
  for (std::uint32_t round = 0; round < 3; ++round) {
    std::uint32_t changes = change_lists::none;
    for (std::uint32_t i = 0; i < 4 * width; ++i) {
      changes = change(i, adding(i, round), changes);
    }
    ASSERT_EQ(replay(changes), CUDA_SUCCESS);
    EXPECT_EQ(counting_driver::rewrites, 1) << "the grid of the last level, in the first round";
  }
}

// requirement: tasks of a kernel that is known to be long are nodes of their own, if a level has
// few of them
TEST_F(RecordedPart, FewLongKernelsAreNodesOfTheirOwn) {
  for (float const kernel_ns : {7000.0F, 9000.0F}) {
    part_->destroy();
    kernel_ns_ = kernel_ns;
    make_part();
    counting_driver::records.clear();
    ASSERT_EQ(replay(change(0, adding(0, 5))), CUDA_SUCCESS);
    EXPECT_EQ(take(0), 5u);
    EXPECT_EQ(counting_driver::records.size(), kernel_ns < 8000 ? 4u : 0u);
  }
}

// requirement: fills and launches can be changed in the same replay
TEST_F(RecordedPart, ChangesFillsAsWell) {
  for (std::uint32_t value = 2; value < 6; ++value) {
    ASSERT_EQ(replay(change(tasks, filling(value), change(4, adding(4, 10 * value)))),
              CUDA_SUCCESS);
    EXPECT_EQ(take(4), 10 * value);
    std::uint32_t seen = 0;
    ASSERT_EQ(api()->memcpy_dtoh(&seen, filled_.address(), sizeof seen), CUDA_SUCCESS);
    EXPECT_EQ(seen, value);
  }
}

// requirement: the changes of a replay that could not be launched are not lost. The next replay
// makes them before its own changes
TEST_F(RecordedPart, DefersWhatWasNotLaunched) {
  testing::fail_call("cuGraphLaunch", 1, driver_status::launch_out_of_resources);
  std::uint32_t changes = change(0, adding(0, 5));
  EXPECT_NE(replay(change(1, adding(1, 6), changes)), CUDA_SUCCESS);
  ASSERT_EQ(replay(change(1, adding(1, 7))), CUDA_SUCCESS);
  EXPECT_EQ(take(0), 5u);
  EXPECT_EQ(take(1), 7u);
  EXPECT_EQ(take(2), 1u);
  ASSERT_EQ(replay(), CUDA_SUCCESS);
  EXPECT_EQ(take(0), 5u);
}

// requirement: while a replay is in flight, the records that it reads are not overwritten.
// Afterwards their memory is used again.
TEST_F(RecordedPart, KeepsTheRecordsOfReplaysInFlight) {
  ASSERT_EQ(replay(), CUDA_SUCCESS);
  EXPECT_EQ(take(0), 1u);
  EXPECT_EQ(counting_driver::records.size(), 5u) << "now all grids read the copy on the device";
  counting_driver::records.clear();
  std::array<std::uint32_t, 2> words{};
  std::uint32_t* address = words.data();
  std::array<void*, 1> arguments{&address};
  ASSERT_EQ(context_.api().launch_kernel(function("hold_until"), 1, 1, 1, 1, 1, 1, 0,
                                         lane_.stream(), arguments.data(), nullptr),
            CUDA_SUCCESS);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(enqueue(change(0, adding(0, i))), CUDA_SUCCESS);
    ASSERT_EQ(enqueue(change_lists::none), CUDA_SUCCESS);
  }
  std::set<void*> const used{counting_driver::records.begin(), counting_driver::records.end()};
  EXPECT_EQ(used.size(), 5u);
  std::atomic_ref{words[1]}.store(1, std::memory_order_release);
  ASSERT_TRUE(reaches(number_));
  EXPECT_EQ(take(0), 2u * (1 + 2 + 3 + 4 + 5));
  for (std::uint32_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(replay(change(0, adding(0, i))), CUDA_SUCCESS);
    EXPECT_EQ(take(0), i);
  }
  EXPECT_EQ(counting_driver::records.size(), 5u) << "the later changes were made in place";
}

// requirement: all memory of the records can be used again when a part is destroyed
TEST_F(RecordedPart, GivesItsMemoryBack) {
  for (int round = 0; round < 500; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      ASSERT_EQ(enqueue(change(i * width, adding(i * width, 1, 1 + i % 2))), CUDA_SUCCESS);
    }
    ASSERT_TRUE(reaches(number_));
    part_->destroy();
    EXPECT_EQ(counting_driver::device_copies, 0);
    make_part();
  }
  EXPECT_EQ(counting_driver::registrations, 2) << "the page of the lanes, and one slab";
}

// requirement: after an invalid grid is set, every replay fails until a valid grid is set
TEST_F(RecordedPart, RefusesAnInvalidGrid) {
  EXPECT_EQ(replay(change(3, adding(3, 9, 0))), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(replay(change(4, adding(4, 9))), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take(3), 0u);
  ASSERT_EQ(replay(change(3, adding(3, 8))), CUDA_SUCCESS);
  EXPECT_EQ(take(3), 8u);
  EXPECT_EQ(take(4), 9u);
}

// requirement: a task's kernel, block size and number of blocks can be changed to what its grid
// cannot hold. The other tasks keep their settings.
TEST_F(RecordedPart, MayBecomeWhatNoGridHolds) {
  ASSERT_EQ(replay(change(5, adding(5, 50, 2))), CUDA_SUCCESS);
  EXPECT_EQ(take(5), 100u);
  ASSERT_EQ(replay(change(6, nothing())), CUDA_SUCCESS);
  EXPECT_EQ(take(5), 100u);
  EXPECT_EQ(take(6), 1u) << "the first replay added 1";
  ASSERT_EQ(replay(change(7, adding(7, 3, 1, 2))), CUDA_SUCCESS);
  EXPECT_EQ(take(5), 100u);
  EXPECT_EQ(take(6), 0u);
  EXPECT_EQ(take(7), 8u) << "two replays added 1 each, then two threads added 3 each";
  ASSERT_EQ(replay(change(8, adding(8, 2, 2000))), CUDA_SUCCESS);
  EXPECT_EQ(take(8), 4003u);
  EXPECT_EQ(counting_driver::graphs, 4) << "each of these changes needs a new graph";
  ASSERT_EQ(replay(change(6, adding(6, 4), change(7, adding(7, 5), change(8, adding(8, 6))))),
            CUDA_SUCCESS);
  EXPECT_EQ(take(6), 4u);
  EXPECT_EQ(take(8), 6u);
  EXPECT_EQ(counting_driver::graphs, 4) << "a task that has left its grid stays apart";
}

// requirement: after an invalid block size is set, every replay fails until a valid size is set. No
// replay runs with the old block size instead.
TEST_F(RecordedPart, ARefusedBlockIsNotForgotten) {
  ASSERT_EQ(replay(change(2, adding(2, 5))), CUDA_SUCCESS);
  EXPECT_EQ(take(2), 5u);
  EXPECT_NE(replay(change(2, adding(2, 7, 1, 5000))), CUDA_SUCCESS);
  EXPECT_NE(replay(), CUDA_SUCCESS);
  EXPECT_NE(replay(change(3, adding(3, 9))), CUDA_SUCCESS);
  EXPECT_EQ(take(2), 0u);
  ASSERT_EQ(replay(change(2, adding(2, 8))), CUDA_SUCCESS);
  EXPECT_EQ(take(2), 8u);
  EXPECT_EQ(take(3), 10u) << "the first replay added 1, the last replay added 9";
}

// requirement: a graph is built again only a few times, however many replays change kernels
TEST_F(RecordedPart, IsBuiltAgainAFewTimesOnly) {
  std::array<std::uint32_t, tasks> each{};
  each.fill(1);
  for (std::uint32_t round = 0; round < 60; ++round) {
    std::uint32_t const i = round * 7 % tasks;
    bool const adds = round % 3 == 0;
    each[i] = adds ? round : 0;
    ASSERT_EQ(replay(adds ? change(i, adding(i, round)) : change(i, nothing())), CUDA_SUCCESS);
    for (std::uint32_t k = 0; k < tasks; ++k) {
      ASSERT_EQ(take(k), each[k]) << k << ", round " << round;
    }
  }
  EXPECT_LE(counting_driver::graphs, 17);
}

// requirement: if the driver refuses to rewrite a grid, its tasks become nodes of their own
TEST_F(RecordedPart, ARefusedGridIsReplacedByNodes) {
  testing::fail_call("cuGraphExecKernelNodeSetParams", 1, driver_status::launch_out_of_resources);
  ASSERT_EQ(replay(change(0, adding(0, 5), change(19, adding(19, 6)))), CUDA_SUCCESS);
  EXPECT_EQ(counting_driver::graphs, 2);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    EXPECT_EQ(take(i), i == 0 ? 5u : i == 19 ? 6u : 1u) << i;
  }
}

// requirement: if the driver has no memory to rewrite a grid, the part is not launched any more
TEST_F(RecordedPart, IsDamagedByARewriteWithoutMemory) {
  testing::fail_call("cuGraphExecKernelNodeSetParams", 1, driver_status::out_of_memory);
  EXPECT_EQ(replay(change(0, adding(0, 5))), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(replay(change(0, adding(0, 5))), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(take(0), 0u);
}

}  // namespace
}  // namespace flotilla::dispatch
