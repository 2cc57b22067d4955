// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Streams: order within a stream and between streams, writes of and waits for values, and host
// functions.
#include "driver_test.hpp"

#include <vector>

namespace flotilla::cpu_driver {
namespace {

using StreamTest = ContextTest;

/// The argument of the host function `append`, which adds `value` to `log`. All these functions run
/// on one device thread, so `log` needs no lock.
struct log_entry {
  std::vector<int>* log;
  int value;
};
void append(void* user) {
  auto const* const entry = static_cast<log_entry*>(user);
  entry->log->push_back(entry->value);
}

TEST_F(StreamTest, RunsItsOperationsInOrder) {
  std::vector<int> log;
  std::vector<log_entry> entries;
  for (int i = 0; i < 100; ++i) { entries.push_back({&log, i}); }
  CUstream const where = stream();
  for (log_entry& each : entries) { ASSERT_OK(cu::cuLaunchHostFunc(where, &append, &each)); }
  EXPECT_OK(cu::cuStreamSynchronize(where));
  ASSERT_EQ(log.size(), 100u);
  for (int i = 0; i < 100; ++i) { EXPECT_EQ(log[static_cast<std::size_t>(i)], i); }
}

TEST_F(StreamTest, QueryTellsWhetherThereIsWork) {
  gate closed;
  CUstream const where = stream();
  EXPECT_OK(cu::cuStreamQuery(where));
  closed.hold(where);
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(where));
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_OK(cu::cuStreamQuery(where));
}

TEST_F(StreamTest, AWaitingStreamDoesNotDelayOthers) {
  gate closed;
  int* const to = shared<int>();
  CUstream const held = stream();
  CUstream const free = stream();
  closed.hold(held);
  EXPECT_OK(launch("store", free, to, 5));
  EXPECT_OK(cu::cuStreamSynchronize(free));
  EXPECT_EQ(*to, 5);
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(held));
}

TEST_F(StreamTest, TheNullStreamWaitsForBlockingStreamsAndTheyForIt) {
  gate closed;
  int* const to = shared<int>(3);
  CUstream const before = stream(CU_STREAM_DEFAULT);
  CUstream const after = stream(CU_STREAM_DEFAULT);
  CUstream const apart = stream(CU_STREAM_NON_BLOCKING);
  closed.hold(before);
  EXPECT_OK(launch("store", before, &to[0], 1));
  EXPECT_OK(launch("store", nullptr, &to[1], 2));
  EXPECT_OK(launch("store", after, &to[2], 3));
  EXPECT_OK(launch("nothing", apart));
  // A non-blocking stream does not wait for the NULL stream.
  EXPECT_OK(cu::cuStreamSynchronize(apart));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(nullptr));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(after));
  EXPECT_EQ(std::atomic_ref(to[1]).load(), 0);
  EXPECT_EQ(std::atomic_ref(to[2]).load(), 0);
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(after));
  EXPECT_EQ(to[0], 1);
  EXPECT_EQ(to[1], 2);
  EXPECT_EQ(to[2], 3);
}

TEST_F(StreamTest, NullStreamsOfDifferentContextsAreDifferent) {
  gate closed;
  closed.hold(nullptr);
  CUcontext const other = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  EXPECT_OK(cu::cuStreamSynchronize(nullptr));
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(StreamTest, SynchronisingTheContextWaitsForAllItsStreams) {
  int* const to = shared<int>(4);
  for (int i = 0; i < 4; ++i) {
    CUstream const where = stream();
    EXPECT_OK(launch("take", where, 2'000'000ll));
    EXPECT_OK(launch("store", where, &to[i], 1));
  }
  EXPECT_OK(cu::cuCtxSynchronize());
  for (int i = 0; i < 4; ++i) { EXPECT_EQ(to[i], 1); }
}

TEST_F(StreamTest, HigherPrioritiesGoFirst) {
  gate closed;
  std::vector<int> log;
  log_entry low{&log, 0};
  log_entry high{&log, 1};
  CUstream const held = stream();
  CUstream const unimportant = stream(CU_STREAM_NON_BLOCKING, 0);
  CUstream const important = stream(CU_STREAM_NON_BLOCKING, -5);
  // Both streams become ready at the same time, because both wait for one event of a third stream.
  closed.hold(held);
  CUevent const go = event();
  EXPECT_OK(cu::cuEventRecord(go, held));
  EXPECT_OK(cu::cuStreamWaitEvent(unimportant, go, 0));
  EXPECT_OK(cu::cuStreamWaitEvent(important, go, 0));
  EXPECT_OK(cu::cuLaunchHostFunc(unimportant, &append, &low));
  EXPECT_OK(cu::cuLaunchHostFunc(important, &append, &high));
  closed.open();
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(log, (std::vector{1, 0}));
}

// regression: each copy took a turn, so it waited for a kernel of each other stream
TEST_F(StreamTest, CopiesInARowTakeOneTurn) {
  constexpr std::size_t copies = 4;
  gate closed;
  int* const count = shared<int>();
  int* const seen = shared<int>(copies);
  CUstream const held = stream(), counts = stream(), copying = stream();
  closed.hold(held);
  CUevent const go = event();
  EXPECT_OK(cu::cuEventRecord(go, held));
  EXPECT_OK(cu::cuStreamWaitEvent(counts, go, 0));
  EXPECT_OK(cu::cuStreamWaitEvent(copying, go, 0));
  for (std::size_t i = 0; i < copies; ++i) {
    EXPECT_OK(cu::cuLaunchHostFunc(
        counts, [](void* user) { ++*static_cast<int*>(user); }, count));
    EXPECT_OK(cu::cuMemcpyAsync(address_of(seen + i), address_of(count), sizeof *count, copying));
  }
  closed.open();
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*count, static_cast<int>(copies));
  for (std::size_t i = 1; i < copies; ++i) { EXPECT_EQ(seen[i], seen[0]) << i; }
}

TEST_F(StreamTest, PrioritiesAreClamped) {
  for (auto const& [asked, got] : {std::pair{-100, -5}, {-1, -1}, {0, 0}, {100, 0}}) {
    int priority = 9;
    EXPECT_OK(cu::cuStreamGetPriority(stream(CU_STREAM_NON_BLOCKING, asked), &priority));
    EXPECT_EQ(priority, got);
  }
}

TEST_F(StreamTest, WorksWithNoContextCurrent) {
  int* const to = shared<int>();
  CUstream const where = stream();
  CUevent const done = event();
  CUfunction const store = function("store");
  ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
  int value = 11;
  void* arguments[] = {const_cast<int**>(&to), &value};
  EXPECT_OK(cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, where, arguments, nullptr));
  EXPECT_OK(cu::cuEventRecord(done, where));
  EXPECT_OK(cu::cuEventSynchronize(done));
  EXPECT_EQ(*to, 11);
  CUcontext owner = nullptr;
  EXPECT_OK(cu::cuStreamGetCtx(where, &owner));
  EXPECT_EQ(owner, context_);
}

TEST_F(StreamTest, DestroyingAStreamLetsItsWorkEnd) {
  auto* const done = shared<std::uint32_t>();
  CUstream const where = stream();
  EXPECT_OK(launch("take", where, 3'000'000ll));
  EXPECT_OK(cu::cuStreamWriteValue32(where, address_of(done), 3, 0));
  EXPECT_OK(cu::cuStreamDestroy(where));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamQuery(where));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamDestroy(where));
  while (std::atomic_ref(*done).load() != 3) { std::this_thread::yield(); }
}

TEST_F(StreamTest, WritesValuesThatHostThreadsMayPollFor) {
  auto* const narrow = shared<std::uint32_t>();
  auto* const wide = shared<std::uint64_t>();
  int* const plain = shared<int>();
  CUstream const where = stream();
  EXPECT_OK(launch("store", where, plain, 17));
  EXPECT_OK(cu::cuStreamWriteValue32(where, address_of(narrow), 5, 0));
  EXPECT_OK(cu::cuStreamWriteValue64(where, address_of(wide), 1ull << 40, 0));
  while (std::atomic_ref(*wide).load(std::memory_order_acquire) == 0) { std::this_thread::yield(); }
  EXPECT_EQ(*plain, 17);  // visible, because the kernel ran earlier in this stream
  EXPECT_EQ(std::atomic_ref(*narrow).load(), 5u);
  EXPECT_EQ(std::atomic_ref(*wide).load(), 1ull << 40);
}

TEST_F(StreamTest, ComparesValuesAsRequested) {
  struct {
    unsigned how;
    std::uint32_t wanted, not_yet, enough;
  } const cases[] = {
      {CU_STREAM_WAIT_VALUE_EQ, 3, 4, 3},
      {CU_STREAM_WAIT_VALUE_GEQ, 3, 2, 4},
      {CU_STREAM_WAIT_VALUE_GEQ, 3, 0x90000000u, 3},  // GEQ compares cyclically
      {CU_STREAM_WAIT_VALUE_AND, 6, 8, 2},
      {CU_STREAM_WAIT_VALUE_NOR, 0xfffffff0u, 0xf, 0x7},
  };
  auto* const word = shared<std::uint32_t>();
  for (auto const& each : cases) {
    std::atomic_ref(*word).store(each.not_yet);
    CUstream const where = stream();
    EXPECT_OK(cu::cuStreamWaitValue32(where, address_of(word), each.wanted, each.how));
    EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(where)) << each.how;
    std::atomic_ref(*word).store(each.enough);
    EXPECT_OK(cu::cuStreamSynchronize(where));
  }
}

TEST_F(StreamTest, AValueWrittenByOneStreamFreesAnother) {
  auto* const word = shared<std::uint64_t>();
  CUstream const first = stream();
  CUstream const second = stream();
  EXPECT_OK(cu::cuStreamWaitValue64(second, address_of(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_OK(cu::cuStreamWriteValue64(first, address_of(word), 1, 0));
  EXPECT_OK(cu::cuStreamSynchronize(second));
}

TEST_F(StreamTest, RefusesInvalidWords) {
  alignas(8) static std::uint64_t mine = 0;
  auto* const word = shared<std::uint32_t>(2);
  CUstream const where = stream();
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuStreamWriteValue32(where, address_of(&mine), 1, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuStreamWriteValue32(where, address_of(word) + 2, 1, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuStreamWaitValue32(where, 0, 1, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuStreamWaitValue32(where, address_of(word), 1, 99));
}

TEST_F(StreamTest, AHostFunctionMayNotCallTheDriver) {
  CUstream const where = stream();
  CUresult answer = CUDA_SUCCESS;
  EXPECT_OK(cu::cuLaunchHostFunc(
      where, [](void* user) { *static_cast<CUresult*>(user) = cu::cuCtxSynchronize(); }, &answer));
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_STATUS(CUDA_ERROR_NOT_PERMITTED, answer);
}

TEST_F(StreamTest, IsNeverCapturing) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_OK(cu::cuStreamIsCapturing(stream(), &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(StreamTest, MoreOperationsThanItsQueueHoldsAreNeitherLostNorDeadlocked) {
  gate closed;
  int* const counter = shared<int>();
  CUstream const where = stream();
  closed.hold(where);
  // A launch blocks if too many operations are pending. This is several times that limit.
  constexpr int many = 10000;
  CUfunction const increment = function("increment");
  void* arguments[] = {const_cast<int**>(&counter)};
  for (int i = 0; i < many; ++i) {
    ASSERT_OK(cu::cuLaunchKernel(increment, 1, 1, 1, 1, 1, 1, 0, where, arguments, nullptr));
  }
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*counter, many);
}

}  // namespace
}  // namespace flotilla::cpu_driver
