// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Green contexts: parts of a primary context, each with its own multiprocessors and streams.
// Requirement: the results are as <cuda.h> documents them. If a kernel has 4096 blocks, they run on
// all multiprocessors of the green context and on no others, as on an H200.
#include <algorithm>
#include <array>
#include <vector>

#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

class GreenContextTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CUdevResource whole{};
    ASSERT_OK(cu::cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    unsigned groups = 2;
    ASSERT_OK(cu::cuDevSmResourceSplitByCount(parts_.data(), &groups, &whole, nullptr, 0, 16));
    ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary_, 0));
    one_ = make(parts_[0]);
    two_ = make(parts_[1]);
    ASSERT_OK(cu::cuCtxPushCurrent(converted(one_)));
    ASSERT_OK(cu::cuModuleLoadData(&module_, test_cpu_driver_kernels.cpu));
  }

  void TearDown() override {
    EXPECT_OK(cu::cuModuleUnload(module_));
    EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
    EXPECT_OK(cu::cuGreenCtxDestroy(one_));
    EXPECT_OK(cu::cuGreenCtxDestroy(two_));
    EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
    DriverTest::TearDown();
  }

  static CUgreenCtx make(CUdevResource part) {
    CUdevResourceDesc description = nullptr;
    CUgreenCtx made = nullptr;
    EXPECT_OK(cu::cuDevResourceGenerateDesc(&description, &part, 1));
    EXPECT_OK(cu::cuGreenCtxCreate(&made, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return made;
  }

  static CUcontext converted(CUgreenCtx of) {
    CUcontext found = nullptr;
    EXPECT_OK(cu::cuCtxFromGreenCtx(&found, of));
    return found;
  }

  static CUstream stream_of(CUgreenCtx of) {
    CUstream made = nullptr;
    EXPECT_OK(cu::cuGreenCtxStreamCreate(&made, of, CU_STREAM_NON_BLOCKING, 0));
    return made;
  }

  CUfunction function(char const* name) {
    CUfunction found = nullptr;
    EXPECT_OK(cu::cuModuleGetFunction(&found, module_, name));
    return found;
  }

  /// Returns how many blocks ran on each multiprocessor.
  std::array<unsigned, 132> where_blocks_run(unsigned blocks, unsigned launches, CUstream in) {
    CUdeviceptr seen = 0;
    std::array<unsigned, 132> counts{};
    EXPECT_OK(cu::cuMemAlloc(&seen, sizeof counts));
    EXPECT_OK(cu::cuMemsetD32(seen, 0, counts.size()));
    void* arguments[] = {&seen};
    for (unsigned i = 0; i < launches; ++i) {
      EXPECT_OK(cu::cuLaunchKernel(function("where_blocks_run"), blocks, 1, 1, 1, 1, 1, 0, in,
                                   arguments, nullptr));
    }
    EXPECT_OK(cu::cuStreamSynchronize(in));
    EXPECT_OK(cu::cuMemcpyDtoH(counts.data(), seen, sizeof counts));
    EXPECT_OK(cu::cuMemFree(seen));
    return counts;
  }

  static std::vector<unsigned> used(std::array<unsigned, 132> const& counts) {
    std::vector<unsigned> found;
    for (unsigned i = 0; i < counts.size(); ++i) {
      if (counts[i] != 0) { found.push_back(i); }
    }
    return found;
  }

  std::array<CUdevResource, 2> parts_{};
  CUcontext primary_ = nullptr;
  CUgreenCtx one_ = nullptr;
  CUgreenCtx two_ = nullptr;
  CUmodule module_ = nullptr;
};

TEST_F(GreenContextTest, ItsBlocksRunOnAllOfItsMultiprocessorsAndOnNoOther) {
  auto const counts = where_blocks_run(4096, 1, nullptr);
  auto const mine = used(counts);
  EXPECT_EQ(mine.size(), 16u);
  unsigned total = 0;
  for (unsigned const each : counts) { total += each; }
  EXPECT_EQ(total, 4096u);
  CUstream const there = stream_of(two_);
  auto const others = used(where_blocks_run(4096, 1, there));
  EXPECT_EQ(others.size(), 16u);
  std::vector<unsigned> both;
  std::set_intersection(mine.begin(), mine.end(), others.begin(), others.end(),
                        std::back_inserter(both));
  EXPECT_TRUE(both.empty());
  EXPECT_OK(cu::cuStreamDestroy(there));
}

TEST_F(GreenContextTest, SingleBlocksRunOnItsMultiprocessorsInTurn) {
  EXPECT_EQ(used(where_blocks_run(1, 64, nullptr)).size(), 16u);
}

TEST_F(GreenContextTest, ThePrimaryContextStillHasAllMultiprocessors) {
  ASSERT_OK(cu::cuCtxPushCurrent(primary_));
  EXPECT_EQ(used(where_blocks_run(4096, 1, nullptr)).size(), 132u);
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
}

TEST_F(GreenContextTest, ItsTwoHandlesAreNotInterchangeable) {
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuCtxPushCurrent(reinterpret_cast<CUcontext>(one_)));
  CUcontext found = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuCtxFromGreenCtx(&found, reinterpret_cast<CUgreenCtx>(converted(one_))));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDestroy(converted(one_)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDetach(converted(one_)));
  EXPECT_EQ(current(), converted(one_));
}

TEST_F(GreenContextTest, MemoryModulesAndEventsAreThePrimaryContextsAndStreamsItsOwn) {
  CUstream blocking = nullptr;
  EXPECT_OK(cu::cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CUcontext owner = nullptr;
  CUgreenCtx green = nullptr;
  EXPECT_OK(cu::cuStreamGetCtx(blocking, &owner));
  EXPECT_EQ(owner, converted(one_));
  EXPECT_OK(cu::cuStreamGetCtx_v2(blocking, &owner, &green));
  EXPECT_EQ(owner, primary_);
  EXPECT_EQ(green, one_);
  CUdeviceptr memory = 0;
  EXPECT_OK(cu::cuMemAlloc(&memory, 64));
  EXPECT_OK(cu::cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  EXPECT_EQ(owner, primary_);
  EXPECT_OK(cu::cuMemFree(memory));
  CUevent event = nullptr;
  EXPECT_OK(cu::cuEventCreate(&event, 0));
  CUstream const there = stream_of(two_);
  EXPECT_OK(cu::cuEventRecord(event, there));
  EXPECT_OK(cu::cuStreamWaitEvent(blocking, event, 0));
  EXPECT_OK(cu::cuEventDestroy(event));
  EXPECT_OK(cu::cuStreamDestroy(there));
  EXPECT_OK(cu::cuStreamDestroy(blocking));
}

TEST_F(GreenContextTest, SynchronisingOneDoesNotWaitForAnotherButThePrimaryWaitsForAll) {
  CUstream const there = stream_of(two_);
  CUevent event = nullptr;
  EXPECT_OK(cu::cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  {
    gate held;
    held.hold(there);
    // Waits for `one_`, which is current, but not for the held stream of `two_`.
    EXPECT_OK(cu::cuCtxSynchronize());
    EXPECT_OK(cu::cuGreenCtxRecordEvent(one_, event));
    EXPECT_OK(cu::cuEventSynchronize(event));
    EXPECT_OK(cu::cuCtxRecordEvent(primary_, event));
    EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuEventQuery(event));
    held.open();
    EXPECT_OK(cu::cuCtxSynchronize_v2(primary_));
    EXPECT_OK(cu::cuEventQuery(event));
  }
  EXPECT_OK(cu::cuEventDestroy(event));
  EXPECT_OK(cu::cuStreamDestroy(there));
}

TEST_F(GreenContextTest, ItsNullStreamOrdersItsOwnBlockingStreamsOnly) {
  CUstream mine = nullptr;
  EXPECT_OK(cu::cuStreamCreate(&mine, CU_STREAM_DEFAULT));
  EXPECT_OK(cu::cuCtxPushCurrent(primary_));
  CUstream primarys = nullptr;
  EXPECT_OK(cu::cuStreamCreate(&primarys, CU_STREAM_DEFAULT));
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  {
    gate held;
    held.hold(primarys);
    EXPECT_OK(cu::cuStreamSynchronize(nullptr));  // the NULL stream of one_, which is current
    held.open();
  }
  {
    gate held;
    held.hold(mine);
    void* no_arguments[] = {nullptr};
    EXPECT_OK(cu::cuLaunchKernel(function("nothing"), 1, 1, 1, 1, 1, 1, 0, nullptr, no_arguments,
                                 nullptr));
    EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(nullptr));
    held.open();
    EXPECT_OK(cu::cuStreamSynchronize(nullptr));
  }
  EXPECT_OK(cu::cuStreamDestroy(mine));
  EXPECT_OK(cu::cuStreamDestroy(primarys));
}

TEST_F(GreenContextTest, StreamsOfADestroyedOneReportThat) {
  CUgreenCtx const doomed = make(parts_[0]);
  CUstream const left = stream_of(doomed);
  CUcontext const handle = converted(doomed);
  EXPECT_OK(cu::cuCtxPushCurrent(handle));
  EXPECT_OK(cu::cuGreenCtxDestroy(doomed));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuStreamQuery(left));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuStreamDestroy(left));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuCtxSynchronize());
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxPushCurrent(handle));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuGreenCtxDestroy(doomed));
}

TEST_F(DriverTest, AGreenContextKeepsThePrimaryContextAndAResetEndsBoth) {
  CUdevResource whole{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  ASSERT_OK(cu::cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  ASSERT_OK(cu::cuDevResourceGenerateDesc(&description, &whole, 1));
  ASSERT_OK(cu::cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  unsigned flags = 0;
  int active = 0;
  EXPECT_OK(cu::cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  CUcontext converted = nullptr;
  EXPECT_OK(cu::cuCtxFromGreenCtx(&converted, green));
  EXPECT_OK(cu::cuCtxPushCurrent(converted));
  EXPECT_OK(cu::cuDevicePrimaryCtxReset(0));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuCtxSynchronize());
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuGreenCtxDestroy(green));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuDevicePrimaryCtxRelease(0));
}

TEST_F(DriverTest, ReleasingAGreenContextsReferenceToThePrimaryContextEndsBothOnce) {
  CUdevResource whole{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  ASSERT_OK(cu::cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  ASSERT_OK(cu::cuDevResourceGenerateDesc(&description, &whole, 1));
  ASSERT_OK(cu::cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuGreenCtxDestroy(green));
}

TEST_F(DriverTest, AWaitOfAContextAlsoHoldsLaterStreams) {
  CUcontext const a = floating();
  CUcontext const b = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  CUevent event = nullptr;
  CUstream held_stream = nullptr;
  EXPECT_OK(cu::cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  EXPECT_OK(cu::cuStreamCreate(&held_stream, CU_STREAM_NON_BLOCKING));
  {
    gate held;
    held.hold(held_stream);
    EXPECT_OK(cu::cuEventRecord(event, held_stream));
    EXPECT_OK(cu::cuCtxPushCurrent(b));
    CUstream before = nullptr;
    CUstream after = nullptr;
    EXPECT_OK(cu::cuStreamCreate(&before, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cu::cuCtxWaitEvent(b, event));
    EXPECT_OK(cu::cuStreamCreate(&after, CU_STREAM_NON_BLOCKING));
    for (CUstream const each : {before, after, CUstream{nullptr}}) {
      EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(each));
    }
    EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
    held.open();
  }
  EXPECT_OK(cu::cuCtxSynchronize_v2(b));
  EXPECT_OK(cu::cuCtxDestroy(b));
  EXPECT_OK(cu::cuCtxDestroy(a));
}

TEST_F(GreenContextTest, OneWithoutADescriptionHasTheWholeDevice) {
  CUgreenCtx made = nullptr;
  CUdevResource its{};
  ASSERT_OK(cu::cuGreenCtxCreate(&made, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  EXPECT_OK(cu::cuGreenCtxGetDevResource(made, &its, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(its.sm.smCount, 132u);
  EXPECT_OK(cu::cuGreenCtxDestroy(made));
}

TEST_F(GreenContextTest, ARefusedStreamHasAHandleOfNoStream) {
  CUstream made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGreenCtxStreamCreate(&made, one_, CU_STREAM_DEFAULT, 0));
  EXPECT_NE(made, nullptr);
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamSynchronize(made));
}

}  // namespace
}  // namespace flotilla::cpu_driver
