// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Lanes and their completion numbers on a CPU device. The tests use no runtime.

#include "dispatch/lane/lane.hpp"

#include <flotilla/testing/fault_injection.hpp>

#include "dispatch/lane/event_pool.hpp"
#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class Lane : public lane_test {
 protected:
  /// Begins and commits a batch of `count` tasks with consecutive slot addresses, beginning with
  /// `first`.
  CUresult give(slot_address first, std::uint32_t count) {
    lane::batch& begun = lane_.begin();
    for (std::uint32_t i = 0; i < count; ++i) { begun.tasks[begun.count++] = first + i; }
    return lane_.commit_with_write();
  }
  /// Waits until the oldest batch is done. @return this batch.
  lane::batch* wait_for_one() {
    lane::batch* done = nullptr;
    EXPECT_TRUE(test::eventually([&] { return (done = lane_.done()) != nullptr; }));
    return done;
  }
};

// requirement: `commit` and `cancel` apply to all batches that have been begun
TEST_F(Lane, HasSeveralNumbersForWhatWritesSeveral) {
  std::uint64_t const first = lane_.begin().number;
  EXPECT_EQ(lane_.begin().number, first + 1);
  EXPECT_EQ(lane_.done(), nullptr) << "the stream has no work yet";
  lane_.cancel();
  EXPECT_EQ(lane_.in_flight(), 0u);
  EXPECT_EQ(lane_.begin().number, first);
  EXPECT_EQ(lane_.begin().number, first + 1);
  lane_.commit();
  EXPECT_EQ(lane_.in_flight(), 2u);
  EXPECT_EQ(lane_.done(), nullptr);
  page_.raise(1, first);
  ASSERT_NE(lane_.done(), nullptr);
  EXPECT_EQ(lane_.done()->number, first);
  lane_.drop();
  EXPECT_EQ(lane_.done(), nullptr) << "the second number has not been written";
  page_.raise(1, first + 1);
  ASSERT_NE(lane_.done(), nullptr);
  lane_.drop();
}

// requirement: a batch that is begun before the last one was committed is launched together with it
TEST_F(Lane, NotesWhichBatchesAreLaunchedTogether) {
  EXPECT_FALSE(lane_.begin().joined);
  EXPECT_TRUE(lane_.begin().joined);
  lane_.commit();
  EXPECT_FALSE(lane_.begin().joined);
  lane_.cancel();
  page_.raise(1, lane_.last_number());
  for (; lane_.done() != nullptr; lane_.drop()) {}
}

// requirement: a batch runs beside the next one only if that was said of this batch
TEST_F(Lane, ForgetsWhatRanBeside) {
  lane::batch const& beside = lane_.begin();
  std::uint64_t const number = beside.number;
  lane_.note_beside_next(beside);
  EXPECT_TRUE(page_.is_beside_next(1, number));
  EXPECT_FALSE(page_.is_beside_next(1, number + 1));
  lane_.cancel();
  EXPECT_EQ(lane_.begin().number, number);
  EXPECT_FALSE(page_.is_beside_next(1, number));
  lane_.cancel();
}

// requirement
TEST_F(Lane, GivesBatchesBackInTheirOrder) {
  EXPECT_EQ(lane_.done(), nullptr);
  for (std::uint32_t i = 0; i < 5; ++i) { ASSERT_EQ(give(10 * i, i + 1), CUDA_SUCCESS); }
  EXPECT_EQ(lane_.in_flight(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) {
    lane::batch const* const done = wait_for_one();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->number, i + 1);
    EXPECT_EQ(done->count, i + 1);
    EXPECT_EQ(done->tasks[i], 11 * i);
    lane_.drop();
  }
  EXPECT_EQ(lane_.in_flight(), 0u);
  EXPECT_EQ(page_.number(1), 5u);
  EXPECT_EQ(page_.number(0), 0u) << "the number of another lane";
}

// requirement
TEST_F(Lane, KnowsTheNumberOfABatchFromItsBeginning) {
  EXPECT_EQ(lane_.begin().number, 1u);
  EXPECT_EQ(lane_.done(), nullptr) << "a batch that is not committed is not done";
  ASSERT_EQ(lane_.commit_with_write(), CUDA_SUCCESS);
  EXPECT_EQ(lane_.begin().number, 2u);
  ASSERT_EQ(lane_.commit_with_write(), CUDA_SUCCESS);
}

// requirement: the number of a cancelled batch is given to the next batch
TEST_F(Lane, TakesABatchBack) {
  ASSERT_EQ(give(1, 1), CUDA_SUCCESS);
  EXPECT_EQ(lane_.begin().number, 2u);
  lane_.cancel();
  EXPECT_EQ(lane_.in_flight(), 1u);
  ASSERT_EQ(give(2, 1), CUDA_SUCCESS);
  for (slot_address i = 1; i <= 2; ++i) {
    lane::batch const* const done = wait_for_one();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->number, i);
    EXPECT_EQ(done->tasks[0], i);
    lane_.drop();
  }
}

// requirement: the number of batches in flight is bounded, so that no launch blocks in the driver
TEST_F(Lane, BoundsTheBatchesInFlight) {
  std::size_t given = 0;
  for (; lane_.has_room(); ++given) { ASSERT_EQ(give(0, 1), CUDA_SUCCESS); }
  EXPECT_GE(given, 2u);
  EXPECT_LE(given, 1024u);
  // No batch may be lost when the lane's ring buffer wraps around.
  for (std::size_t round = 0; round < 3 * given; ++round) {
    lane::batch const* const done = wait_for_one();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->number, round + 1);
    lane_.drop();
    EXPECT_TRUE(lane_.has_room());
    ASSERT_EQ(give(0, 1), CUDA_SUCCESS);
    EXPECT_FALSE(lane_.has_room());
  }
}

// requirement: if the device cannot write a completion number, the lane queries the stream instead
TEST_F(Lane, AsksTheStreamWhereTheNumberCannotBeWritten) {
  testing::fail_call("cuStreamWriteValue64", 2, driver_status::not_supported);
  EXPECT_EQ(give(1, 1), CUDA_SUCCESS);
  EXPECT_EQ(give(2, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(give(3, 1), CUDA_SUCCESS);
  for (slot_address i = 1; i <= 3; ++i) {
    lane::batch const* const done = wait_for_one();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->tasks[0], i);
    lane_.drop();
  }
  EXPECT_EQ(page_.number(1), 3u);
}

// requirement: a lane works even if the device can never write a completion number
TEST_F(Lane, NeedsNoWritesAtAll) {
  for (slot_address i = 1; i <= 4; ++i) {
    testing::fail_call("cuStreamWriteValue64", 1, driver_status::not_supported);
    EXPECT_EQ(give(i, 1), CUDA_ERROR_NOT_SUPPORTED);
  }
  EXPECT_EQ(page_.number(1), 0u);
  for (slot_address i = 1; i <= 4; ++i) {
    lane::batch const* const done = wait_for_one();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->tasks[0], i);
    lane_.drop();
  }
}

// requirement: nothing in the stream writes the number of a batch that ends with an event, and the
// lane finds its end
TEST_F(Lane, EndsABatchWithItsEvent) {
  CUevent event = nullptr;
  ASSERT_EQ(api()->event_create(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(give(1, 1), CUDA_SUCCESS);
  lane::batch& begun = lane_.begin();
  begun.tasks[begun.count++] = 2;
  ASSERT_EQ(api()->event_record(event, lane_.stream()), CUDA_SUCCESS);
  lane_.commit_with_event(event);
  settle();
  EXPECT_EQ(page_.number(1), 1u);
  ASSERT_NE(lane_.done(), nullptr);
  EXPECT_EQ(lane_.done()->number, 1u);
  lane_.drop();
  ASSERT_NE(lane_.done(), nullptr);
  EXPECT_EQ(lane_.done()->tasks[0], 2u);
  EXPECT_EQ(page_.number(1), 2u);
  lane_.drop();
  // The next batch in the same place of the ring ends with its number.
  for (std::size_t i = 0; i < lane::max_batches; ++i) {
    ASSERT_EQ(give(3, 1), CUDA_SUCCESS);
    ASSERT_NE(wait_for_one(), nullptr);
    EXPECT_EQ(lane_.done()->end_event, nullptr);
    lane_.drop();
  }
  EXPECT_EQ(api()->event_destroy(event), CUDA_SUCCESS);
}

// requirement: threads that do not hold the lease can also query a lane. A completion number never
// decreases.
TEST_F(Lane, IsQueriedByAnyThread) {
  testing::fail_call("cuStreamWriteValue64", 1, driver_status::not_supported);
  EXPECT_EQ(give(1, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(test::eventually([&] {
    lane_.query();
    return page_.number(1) == 1;
  }));
  page_.raise(1, 0);
  EXPECT_EQ(page_.number(1), 1u);
}

// requirement: completion numbers can still be read after the lane was destroyed and the completion
// page was unregistered
TEST_F(Lane, LeavesItsNumbersInThePage) {
  ASSERT_EQ(give(0, 1), CUDA_SUCCESS);
  wait_for_one();
  lane_.destroy();
  page_.unregister();
  EXPECT_EQ(page_.number(1), 1u);
}

// requirement: the pool reuses events. When it creates an event, it leaves the context stack
// unchanged.
TEST_F(Lane, TakesEventsFromAPool) {
  event_pool events{context_, CU_EVENT_DISABLE_TIMING};
  std::vector<CUevent> used;
  std::size_t const before = depth();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(events.with([&](CUevent event) {
      used.push_back(event);
      return api()->event_record(event, lane_.stream());
    }),
              CUDA_SUCCESS);
  }
  EXPECT_EQ(used[1], used[0]);
  EXPECT_EQ(used[2], used[0]);
  EXPECT_EQ(events.with([&](CUevent) {
    return events.with([&](CUevent inner) {
      EXPECT_NE(inner, used[0]) << "the first event is still in use";
      return CUDA_SUCCESS;
    });
  }),
            CUDA_SUCCESS);
  EXPECT_EQ(depth(), before);
  EXPECT_EQ(driver::cpu_control().live_handles().events, 2u);
  events.destroy();
  EXPECT_EQ(driver::cpu_control().live_handles().events, 0u);
}

// requirement
TEST_F(Lane, HandsOnWhatTheDriverSaysOfAnEvent) {
  event_pool events{context_, CU_EVENT_DISABLE_TIMING};
  std::size_t const before = depth();
  testing::fail_call("cuEventCreate", 1, driver_status::out_of_memory);
  EXPECT_EQ(events.with([](CUevent) { return CUDA_SUCCESS; }), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(depth(), before);
  EXPECT_EQ(events.with([](CUevent) { return CUDA_ERROR_INVALID_HANDLE; }),
            CUDA_ERROR_INVALID_HANDLE);
  events.destroy();
}

}  // namespace
}  // namespace flotilla::dispatch
