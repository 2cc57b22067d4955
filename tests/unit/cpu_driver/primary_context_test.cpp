// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Primary contexts: retain, release, flags, state, and reuse of the handle. Requirement: the
// results are as documented in <cuda.h> and recorded in docs/results/h200-conformance.txt.
#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

TEST_F(DriverTest, PrimaryContextsLiveFromTheFirstRetainToTheLastRelease) {
  unsigned flags = 9;
  int active = 9;
  EXPECT_OK(cu::cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
  CUcontext one = nullptr;
  CUcontext two = nullptr;
  EXPECT_OK(cu::cuDevicePrimaryCtxRetain(&one, 0));
  EXPECT_OK(cu::cuDevicePrimaryCtxRetain(&two, 0));
  EXPECT_EQ(one, two);
  EXPECT_EQ(current(), nullptr);
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDestroy(one));
  EXPECT_OK(cu::cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_BLOCKING_SYNC});
  EXPECT_EQ(active, 1);
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_OK(cu::cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(active, 0);
}

TEST_F(DriverTest, APrimaryContextMapsHostMemoryAndItsStateDoesNotSaySo) {
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuDevicePrimaryCtxSetFlags(0, CU_CTX_MAP_HOST));
  EXPECT_OK(cu::cuDevicePrimaryCtxSetFlags(0, CU_CTX_LMEM_RESIZE_TO_MAX));
  CUcontext primary = nullptr;
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary, 0));
  ASSERT_OK(cu::cuCtxPushCurrent(primary));
  unsigned flags = 0;
  int active = 0;
  EXPECT_OK(cu::cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned{CU_CTX_LMEM_RESIZE_TO_MAX | CU_CTX_MAP_HOST});
  EXPECT_OK(cu::cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(flags, unsigned{CU_CTX_LMEM_RESIZE_TO_MAX});
  EXPECT_OK(cu::cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN));
  EXPECT_OK(cu::cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_SPIN} | CU_CTX_MAP_HOST);
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
}

TEST_F(DriverTest, ACurrentHandleIsValidAgainInTheNextPrimaryContext) {
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  CUcontext other_device = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&first, 0));
  ASSERT_OK(cu::cuCtxPushCurrent(first));
  CUevent event = nullptr;
  ASSERT_OK(cu::cuEventCreate(&event, 0));
  unsigned long long id = 0;
  unsigned long long next_id = 0;
  EXPECT_OK(cu::cuCtxGetId(nullptr, &id));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(current(), first);
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuMemAlloc(&memory, 4));
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&other_device, 1));
  EXPECT_NE(other_device, first);
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  EXPECT_OK(cu::cuMemAlloc(&memory, 4));
  // The handle is the same, but it now belongs to a new context.
  EXPECT_OK(cu::cuCtxGetId(nullptr, &next_id));
  EXPECT_NE(id, next_id);
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventQuery(event));
  EXPECT_OK(cu::cuMemFree(memory));
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(1));
}

// requirement: the description of CUDA_ERROR_CONTEXT_IS_DESTROYED in <cuda.h>: the current context
// can be a primary context that is not initialised
TEST_F(DriverTest, AReleasedPrimaryContextCanBecomeCurrentAndItsMemoryCannotBeUsed) {
  CUcontext primary = nullptr;
  CUcontext found = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_OK(cu::cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary, 0));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_OK(cu::cuCtxPushCurrent(primary));
  EXPECT_OK(cu::cuCtxSetCurrent(primary));
  EXPECT_EQ(current(), primary);
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuMemAlloc(&memory, 4));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuCtxSynchronize());
  CUdevice device = 9;
  EXPECT_OK(cu::cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  // The context works as soon as it is retained.
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&found, 0));
  EXPECT_EQ(found, primary);
  EXPECT_OK(cu::cuMemAlloc(&memory, 4));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuMemAlloc(&memory, 4));
  EXPECT_OK(cu::cuCtxPopCurrent(&found));
  EXPECT_EQ(found, primary);
  // A context that was not primary cannot become current again.
  CUcontext const owned = floating();
  EXPECT_OK(cu::cuCtxDestroy(owned));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxPushCurrent(owned));
}

TEST_F(DriverTest, ALibraryIsLoadedAgainIntoTheNextPrimaryContext) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_OK(cu::cuLibraryLoadData(&library, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
  ASSERT_OK(cu::cuLibraryGetKernel(&kernel, library, "nothing"));
  CUfunction functions[2] = {};
  for (CUfunction& each : functions) {
    CUcontext primary = nullptr;
    ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary, 0));
    ASSERT_OK(cu::cuCtxPushCurrent(primary));
    ASSERT_OK(cu::cuKernelGetFunction(&each, kernel));
    EXPECT_OK(cu::cuLaunchKernel(each, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    EXPECT_OK(cu::cuCtxSynchronize());
    EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
    EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
  }
  EXPECT_NE(functions[0], functions[1]);
  EXPECT_OK(cu::cuLibraryUnload(library));
}

TEST_F(DriverTest, PeerAccessEndsWithItsContextAlsoIfTheHandleIsReused) {
  CUcontext const a = floating(0);
  CUcontext primary = nullptr;
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary, 1));
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  EXPECT_OK(cu::cuCtxEnablePeerAccess(primary, 0));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(1));
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary, 1));
  EXPECT_STATUS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cu::cuCtxDisablePeerAccess(primary));
  EXPECT_OK(cu::cuCtxEnablePeerAccess(primary, 0));
  EXPECT_OK(cu::cuCtxDestroy(a));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(1));
}

TEST_F(DriverTest, APrimaryContextIsDetachedAsOftenAsAttached) {
  CUcontext primary = nullptr;
  CUcontext attached = nullptr;
  ASSERT_OK(cu::cuDevicePrimaryCtxRetain(&primary, 0));
  ASSERT_OK(cu::cuCtxPushCurrent(primary));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDetach(primary));
  EXPECT_OK(cu::cuCtxAttach(&attached, 0));
  EXPECT_OK(cu::cuCtxDetach(primary));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDetach(primary));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuDevicePrimaryCtxRelease(0));
}

}  // namespace
}  // namespace flotilla::cpu_driver
