// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Settings and refused calls. docs/results/h200-conformance.txt records how an H200 answers for
// some values. Requirement: the CPU driver follows the same rules for other values.
#include <limits>

#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

class H200AnswersTest : public ContextTest {
 protected:
  /// Requests the limit `wish`. @return the limit after the request, as text. If the request
  /// failed, the text begins with the status.
  static std::string after(CUlimit which, std::size_t wish) {
    CUresult const status = cu::cuCtxSetLimit(which, wish);
    std::size_t now = 0;
    EXPECT_OK(cu::cuCtxGetLimit(&now, which));
    return (status != CUDA_SUCCESS ? std::string(error_name(status)) + " " : "") +
           std::to_string(now);
  }

  static unsigned flags() {
    unsigned found = 99;
    EXPECT_OK(cu::cuCtxGetFlags(&found));
    return found;
  }
};

TEST_F(H200AnswersTest, AStackThatRoundsToTheSameSizeStaysAsRequested) {
  // A request is usually rounded up. If the rounded value is the current size, here 1024, the limit
  // becomes the requested value.
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, 1010), "1010");
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, 1008), "1008");
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, 1010), "1024");
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, 5001), "5008");
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, 5001), "5001");
}

TEST_F(H200AnswersTest, AStackEndsAt511KiB) {
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, 511 << 10), "523264");
  EXPECT_EQ(after(CU_LIMIT_STACK_SIZE, (512 << 10) - 16), "CUDA_ERROR_INVALID_VALUE 523264");
}

TEST_F(H200AnswersTest, BuffersAreRoundedToGranules) {
  EXPECT_EQ(after(CU_LIMIT_PRINTF_FIFO_SIZE, 700001), "700160");
  EXPECT_EQ(after(CU_LIMIT_MALLOC_HEAP_SIZE, (6 << 20) + 1), "6356992");
}

TEST_F(H200AnswersTest, PendingLaunchesAreClamped) {
  EXPECT_EQ(after(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 599187), "599186");
  EXPECT_EQ(after(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 5), "32");
}

TEST_F(H200AnswersTest, GraphicsLimitsAreReadOrUnsupported) {
  EXPECT_EQ(after(CU_LIMIT_CIG_ENABLED, 1), "CUDA_ERROR_NOT_PERMITTED 0");
  std::size_t value = 0;
  EXPECT_STATUS(CUDA_ERROR_UNSUPPORTED_LIMIT,
                cu::cuCtxGetLimit(&value, CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED));
}

TEST_F(H200AnswersTest, MappingIsFixedWhenAContextIsCreated) {
  EXPECT_OK(cu::cuCtxSetFlags(CU_CTX_MAP_HOST | CU_CTX_SCHED_YIELD));
  EXPECT_EQ(flags(), unsigned{CU_CTX_SCHED_YIELD});
  CUcontext const mapping = floating(0, CU_CTX_MAP_HOST);
  ASSERT_OK(cu::cuCtxPushCurrent(mapping));
  EXPECT_OK(cu::cuCtxSetFlags(CU_CTX_SCHED_SPIN));
  EXPECT_EQ(flags(), CU_CTX_MAP_HOST | unsigned{CU_CTX_SCHED_SPIN});
  EXPECT_OK(cu::cuCtxDestroy(mapping));
}

TEST_F(H200AnswersTest, ADestroyedContextKeepsItsDeviceAndFlags) {
  CUcontext const doomed = floating(1, CU_CTX_SCHED_YIELD);
  ASSERT_OK(cu::cuCtxPushCurrent(doomed));
  std::thread([&] { EXPECT_OK(cu::cuCtxDestroy(doomed)); }).join();
  CUdevice device = 99;
  EXPECT_OK(cu::cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(flags(), unsigned{CU_CTX_SCHED_YIELD});
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
}

TEST_F(H200AnswersTest, HostMemoryIsAlwaysMapped) {
  void* memory = nullptr;
  unsigned found = 0;
  ASSERT_OK(cu::cuMemHostAlloc(&memory, 64, CU_MEMHOSTALLOC_WRITECOMBINED));
  EXPECT_OK(cu::cuMemHostGetFlags(&found, memory));
  EXPECT_EQ(found, unsigned{CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_OK(cu::cuMemFreeHost(memory));
  alignas(4096) static char page[4096];
  ASSERT_OK(cu::cuMemHostRegister(page, sizeof page, CU_MEMHOSTREGISTER_PORTABLE));
  EXPECT_OK(cu::cuMemHostGetFlags(&found, page));
  EXPECT_EQ(found, unsigned{CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP});
  EXPECT_OK(cu::cuMemHostUnregister(page));
  EXPECT_OK(cu::cuMemHostAlloc(&memory, 0, 0));
  EXPECT_EQ(memory, nullptr);
}

TEST_F(H200AnswersTest, MemoryIsFreedWithNoContextCurrent) {
  CUdeviceptr memory = 0;
  void* host = nullptr;
  ASSERT_OK(cu::cuMemAlloc(&memory, 64));
  ASSERT_OK(cu::cuMemHostAlloc(&host, 64, 0));
  std::thread([&] {
    EXPECT_OK(cu::cuMemFree(memory));
    EXPECT_OK(cu::cuMemFreeHost(host));
    EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFree(memory));
  }).join();
}

TEST_F(H200AnswersTest, RangesOfUnknownAddressesAreNotWritten) {
  CUdeviceptr start = 77;
  std::size_t bytes = 78;
  CUmemorytype kind = CU_MEMORYTYPE_HOST;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* answers[] = {&start, &bytes, &kind};
  EXPECT_OK(cu::cuPointerGetAttributes(3, asked, answers, reinterpret_cast<CUdeviceptr>(&start)));
  EXPECT_EQ(start, 77u);
  EXPECT_EQ(bytes, 78u);
  EXPECT_EQ(static_cast<int>(kind), 0);
}

TEST_F(H200AnswersTest, TimeIsMeasuredWithinOneContext) {
  CUcontext const other = floating();
  CUevent here = nullptr;
  CUevent there = nullptr;
  ASSERT_OK(cu::cuEventCreate(&here, 0));
  ASSERT_OK(cu::cuEventRecord(here, nullptr));
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  ASSERT_OK(cu::cuEventCreate(&there, 0));
  ASSERT_OK(cu::cuEventRecord(there, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  float time = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventElapsedTime(&time, here, there));
  EXPECT_OK(cu::cuEventElapsedTime(&time, there, there));
  EXPECT_OK(cu::cuCtxDestroy(other));
  EXPECT_OK(cu::cuEventDestroy(here));
}

TEST_F(H200AnswersTest, AnInterprocessEventHasNoTime) {
  CUevent event = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  EXPECT_STATUS(CUDA_ERROR_NOT_SUPPORTED,
                cu::cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
}

TEST_F(H200AnswersTest, SomeArgumentsAreCheckedBeforeTheContext) {
  std::thread([] {
    EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxGetFlags(nullptr));
    EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuStreamCreate(nullptr, 0));
    EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuDevicePrimaryCtxGetState(99, nullptr, nullptr));
    EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }).join();
}

TEST_F(H200AnswersTest, OneOfTwoResultPointersIsEnough) {
  std::size_t bytes = 0;
  EXPECT_OK(cu::cuMemGetInfo(&bytes, nullptr));
  EXPECT_GT(bytes, 0u);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(cu::cuModuleLoadData(&module, test_cpu_driver_kernels.cpu));
  EXPECT_OK(cu::cuModuleGetGlobal(nullptr, &bytes, module, "variable"));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuModuleGetGlobal(nullptr, nullptr, module, "variable"));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuModuleGetFunction(&function, module, ""));
  EXPECT_OK(cu::cuModuleUnload(module));
}

}  // namespace
}  // namespace flotilla::cpu_driver
