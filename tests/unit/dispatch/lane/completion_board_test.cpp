// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The ends of batches that have numbers or events, as other threads and devices see them. The tests
// use a CPU device and no runtime.

#include "dispatch/lane/completion_board.hpp"

#include <flotilla/testing/fault_injection.hpp>

#include <atomic>
#include <cstdint>

#include "support/eventually.hpp"
#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class CompletionBoard : public template_test {
 protected:
  CompletionBoard() {
    board_.add(context_, 3, 0);
    EXPECT_EQ(board_lane_.open(0), CUDA_SUCCESS);
    EXPECT_EQ(api()->stream_create_with_priority(&other_, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  }
  ~CompletionBoard() override {
    release();
    settle();
    testing::clear_faults();
    EXPECT_EQ(api()->stream_destroy(other_), CUDA_SUCCESS);
    board_lane_.destroy();
    board_.events_of(0).destroy();
    board_.page_of(0).unregister();
  }
  /// Puts a kernel that runs until `release` into the stream of the lane.
  void hold() {
    words_[0] = words_[1] = 0;
    CUdeviceptr words = reinterpret_cast<CUdeviceptr>(words_);
    void* arguments[] = {&words};
    ASSERT_EQ(api()->launch_kernel(function("hold_until"), 1, 1, 1, 1, 1, 1, 0,
                                   board_lane_.stream(), arguments, nullptr),
              CUDA_SUCCESS);
  }
  void release() { std::atomic_ref{words_[1]}.store(1, std::memory_order_release); }
  /// Records an event behind what is in the stream of the lane: batch `number`.
  CUevent record(std::uint64_t number) {
    return board_.events_of(0).record(1, number, board_.page(0).number(1), board_lane_.stream());
  }
  static end_mark mark(std::uint64_t number) { return end_mark::of(0, 1, number); }

  completion_board board_;
  lane board_lane_{context_, page_, waits_, 1};
  CUstream other_ = nullptr;
  std::uint32_t words_[2] = {};
};

// requirement: a batch that ends with an event counts as ended when the event is complete. Then its
// number is stored, although no thread drives the device.
TEST_F(CompletionBoard, ReachesAMarkThroughItsEvent) {
  hold();
  ASSERT_NE(record(1), nullptr);
  EXPECT_NE(board_.event_of(mark(1)), nullptr);
  EXPECT_FALSE(board_.reached(mark(1)));
  EXPECT_EQ(board_.number(mark(1)), 0u);
  release();
  settle();
  EXPECT_EQ(board_.number(mark(1)), 0u) << "nobody has asked yet";
  EXPECT_TRUE(board_.reached(mark(1))) << "already the first thread that asks sees the end";
  EXPECT_EQ(board_.number(mark(1)), 1u);
  EXPECT_FALSE(board_.reached(mark(2)));
}

// requirement: a stream waits for the event, not for the number, which nothing on the device writes
TEST_F(CompletionBoard, StreamsWaitForTheEvent) {
  hold();
  ASSERT_NE(record(1), nullptr);
  driver::call_outcome const waited = board_.enqueue_wait(other_, mark(1));
  EXPECT_TRUE(waited.ok());
  EXPECT_STREQ(waited.call, "cuStreamWaitEvent");
  EXPECT_EQ(api()->stream_query(other_), CUDA_ERROR_NOT_READY);
  release();
  EXPECT_TRUE(test::eventually([&] { return api()->stream_query(other_) == CUDA_SUCCESS; }));
  EXPECT_EQ(board_.number(mark(1)), 0u) << "nobody has asked yet";
}

// requirement: the event of a batch is not recorded again while it may be needed
TEST_F(CompletionBoard, KeepsTheEventOfABatchInFlight) {
  hold();
  std::uint64_t number = 1;
  while (record(number) != nullptr) { ASSERT_LT(++number, 1000u); }
  EXPECT_GT(number, 1u);
  for (std::uint64_t i = 1; i < number; ++i) { EXPECT_NE(board_.event_of(mark(i)), nullptr) << i; }
  EXPECT_EQ(board_.event_of(mark(number)), nullptr);
  release();
  for (std::uint64_t i = 1; i < number; ++i) {
    EXPECT_TRUE(test::eventually([&] { return board_.reached(mark(i)); })) << i;
  }
  EXPECT_NE(record(number), nullptr);
}

// requirement: without an event, a stream waits for the number
TEST_F(CompletionBoard, WithoutAnEventStreamsWaitForTheNumber) {
  testing::fail_call("cuEventRecord", 1, driver_status::out_of_memory);
  EXPECT_EQ(record(1), nullptr);
  EXPECT_EQ(board_.event_of(mark(1)), nullptr);
  EXPECT_FALSE(board_.reached(mark(1)));
  EXPECT_STREQ(board_.enqueue_wait(other_, mark(1)).call, "cuStreamWaitValue64");
  board_.page_of(0).raise(1, 1);
  EXPECT_TRUE(board_.reached(mark(1)));
  EXPECT_TRUE(test::eventually([&] { return api()->stream_query(other_) == CUDA_SUCCESS; }));
}

}  // namespace
}  // namespace flotilla::dispatch
