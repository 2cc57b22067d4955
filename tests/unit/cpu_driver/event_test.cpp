// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recording events, waiting for them and measuring time with them.
#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using EventTest = ContextTest;

TEST_F(EventTest, IsCompleteIfItWasNeverRecorded) {
  CUevent const made = event();
  EXPECT_OK(cu::cuEventQuery(made));
  EXPECT_OK(cu::cuEventSynchronize(made));
  EXPECT_OK(cu::cuStreamWaitEvent(stream(), made, 0));
}

TEST_F(EventTest, IsCompleteWhenItsStreamHasReachedIt) {
  gate closed;
  CUstream const where = stream();
  CUevent const made = event();
  closed.hold(where);
  EXPECT_OK(cu::cuEventRecord(made, where));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuEventQuery(made));
  closed.open();
  EXPECT_OK(cu::cuEventSynchronize(made));
  EXPECT_OK(cu::cuEventQuery(made));
}

// error guess: an event is recorded again after a stream was told to wait for it. The stream waits
// only for the earlier record.
TEST_F(EventTest, AWaitIsForTheLatestRecordBeforeIt) {
  gate first;
  gate second;
  CUstream const early = stream();
  CUstream const late = stream();
  CUstream const waiting = stream();
  CUevent const made = event();
  first.hold(early);
  second.hold(late);
  EXPECT_OK(cu::cuEventRecord(made, early));
  EXPECT_OK(cu::cuStreamWaitEvent(waiting, made, 0));
  EXPECT_OK(cu::cuEventRecord(made, late));
  first.open();
  EXPECT_OK(cu::cuStreamSynchronize(waiting));  // must not wait for the second record
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuEventQuery(made));
}

TEST_F(EventTest, OrdersStreamsOfDifferentDevices) {
  CUcontext const other = floating(1);
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUstream there = nullptr;
  ASSERT_OK(cu::cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
  {
    gate closed;
    int* const value = shared<int>();
    int* const seen = shared<int>();
    CUstream const here = stream();
    CUevent const made = event();
    for (int round = 1; round <= 50; ++round) {
      EXPECT_OK(launch("store", here, value, round));
      EXPECT_OK(cu::cuEventRecord(made, here));
      EXPECT_OK(cu::cuStreamWaitEvent(there, made, 0));
      EXPECT_OK(cu::cuMemcpyDtoDAsync(address_of(seen), address_of(value), sizeof(int), there));
      EXPECT_OK(cu::cuStreamSynchronize(there));
      EXPECT_EQ(*seen, round);
    }
  }
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(EventTest, MayBeDestroyedDuringAWait) {
  gate closed;
  CUstream const held = stream();
  CUstream const waiting = stream();
  CUevent const made = event();
  closed.hold(held);
  EXPECT_OK(cu::cuEventRecord(made, held));
  EXPECT_OK(cu::cuStreamWaitEvent(waiting, made, 0));
  EXPECT_OK(cu::cuEventDestroy(made));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventQuery(made));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(waiting));
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(waiting));
}

TEST_F(EventTest, IsRecordedInStreamsOfItsContextOnly) {
  CUevent const mine = event();
  CUcontext const other = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUstream there = nullptr;
  ASSERT_OK(cu::cuStreamCreate(&there, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventRecord(mine, there));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventRecord(mine, nullptr));
  EXPECT_OK(cu::cuStreamWaitEvent(there, mine, 0));
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(EventTest, MeasuresTime) {
  CUstream const where = stream();
  CUevent const start = event(CU_EVENT_DEFAULT);
  CUevent const end = event(CU_EVENT_DEFAULT);
  float milliseconds = -1;
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventElapsedTime_v2(&milliseconds, start, end));
  EXPECT_OK(cu::cuEventRecord(start, where));
  EXPECT_OK(launch("take", where, 5'000'000ll));
  EXPECT_OK(cu::cuEventRecord(end, where));
  EXPECT_OK(cu::cuEventSynchronize(end));
  EXPECT_OK(cu::cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 5);
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventElapsedTime(&milliseconds, start, event()));
}

TEST_F(EventTest, RefusesUnknownFlags) {
  CUevent made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuEventCreate(&made, 64));
  EXPECT_STATUS(CUDA_ERROR_NOT_SUPPORTED,
                cu::cuEventCreate(&made, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
}

}  // namespace
}  // namespace flotilla::cpu_driver
