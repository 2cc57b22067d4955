// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Contexts: flags, limits, settings, and objects that are destroyed with the context. Requirement:
// the results are those that an H200 returns.
#include "cpu_driver/module/module.hpp"
#include "driver_test.hpp"

#include <utility>

namespace flotilla::cpu_driver {
namespace {

using ContextSettingsTest = ContextTest;

std::pair<std::string, std::size_t> after_setting(CUlimit which, std::size_t value) {
  CUresult const status = cu::cuCtxSetLimit(which, value);
  std::size_t now = 0;
  EXPECT_OK(cu::cuCtxGetLimit(&now, which));
  return {error_name(status), now};
}

TEST_F(DriverTest, FlagsAreKeptAndWrongOnesRefused) {
  for (unsigned const flags : {0u, 1u, 2u, 4u, 8u, 16u, 20u}) {
    CUcontext made = nullptr;
    ASSERT_OK(cu::cuCtxCreate_v2(&made, flags, 0));
    unsigned kept = ~0u;
    EXPECT_OK(cu::cuCtxGetFlags(&kept));
    EXPECT_EQ(kept, flags);
    EXPECT_OK(cu::cuCtxDestroy(made));
  }
  CUcontext none = nullptr;
  for (unsigned const flags : {3u, 5u, 7u, 0x100u}) {
    EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxCreate_v2(&none, flags, 0));
  }
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuCtxCreate_v2(&none, 0, 99));
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuCtxCreate_v2(&none, 0, -1));
}

TEST_F(DriverTest, CallsThatNeedAContextAreRefusedWithoutOne) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  std::size_t value = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuMemAlloc(&memory, 4));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuStreamCreate(&stream, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuEventCreate(&event, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuModuleLoadData(&module, test_cpu_driver_kernels.cpu));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuStreamSynchronize(nullptr));
}

TEST_F(ContextSettingsTest, LimitsAreRoundedAndRefusedAsOnAnH200) {
  using expected = std::pair<std::string, std::size_t>;
  EXPECT_EQ(after_setting(CU_LIMIT_STACK_SIZE, 1000), expected("CUDA_SUCCESS", 1008));
  EXPECT_EQ(after_setting(CU_LIMIT_STACK_SIZE, 64u << 20),
            expected("CUDA_ERROR_INVALID_VALUE", 1008));
  EXPECT_EQ(after_setting(CU_LIMIT_STACK_SIZE, 0), expected("CUDA_SUCCESS", 0));
  EXPECT_EQ(after_setting(CU_LIMIT_PRINTF_FIFO_SIZE, 1000), expected("CUDA_SUCCESS", 524288));
  EXPECT_EQ(after_setting(CU_LIMIT_MALLOC_HEAP_SIZE, 1000), expected("CUDA_SUCCESS", 4194304));
  EXPECT_EQ(after_setting(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1),
            expected("CUDA_SUCCESS", 32));
  EXPECT_EQ(after_setting(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1u << 20),
            expected("CUDA_SUCCESS", 3932160));
  EXPECT_EQ(after_setting(CU_LIMIT_SHMEM_SIZE, 4096), expected("CUDA_ERROR_NOT_PERMITTED", 232448));
  std::size_t value = 0;
  EXPECT_STATUS(CUDA_ERROR_UNSUPPORTED_LIMIT,
                cu::cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxSetLimit(static_cast<CUlimit>(99), 0));
}

TEST_F(ContextSettingsTest, LimitsBelongToTheContext) {
  CUcontext const other = floating();
  ASSERT_OK(cu::cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  std::size_t value = 0;
  EXPECT_OK(cu::cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 1024u);
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(ContextSettingsTest, TheHeapLimitIsFixedAfterAKernelUsedMalloc) {
  int* const got = shared<int>();
  EXPECT_OK(cu::cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16u << 20));
  EXPECT_OK(launch("use_malloc", nullptr, 1024, got));
  // The test does not wait for the kernel first. The result must not depend on whether the kernel
  // has begun.
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32u << 20));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*got, 1);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32u << 20));
  EXPECT_OK(cu::cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
}

TEST_F(ContextSettingsTest, TheDeviceHeapEndsAtItsLimit) {
  int* const got = shared<int>(2);
  EXPECT_OK(launch("keep_malloc", nullptr, 6 << 20, &got[0]));
  EXPECT_OK(launch("keep_malloc", nullptr, 6 << 20, &got[1]));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 0);
}

TEST_F(ContextSettingsTest, CacheAndBankSettingsAreCheckedAndTheBankStaysFourBytes) {
  CUfunc_cache cache{};
  EXPECT_OK(cu::cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_EQUAL));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxSetCacheConfig(static_cast<CUfunc_cache>(4)));
  EXPECT_OK(cu::cuCtxGetCacheConfig(&cache));
  EXPECT_EQ(cache, CU_FUNC_CACHE_PREFER_EQUAL);
  CUsharedconfig bank{};
  EXPECT_OK(cu::cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  EXPECT_OK(cu::cuCtxGetSharedMemConfig(&bank));
  EXPECT_EQ(bank, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
}

TEST_F(ContextSettingsTest, AFunctionsOwnCachePreferenceWinsInItsContextOnly) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_OK(cu::cuLibraryLoadData(&library, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
  ASSERT_OK(cu::cuLibraryGetKernel(&kernel, library, "nothing"));
  CUcontext const other = floating();
  auto const preference = [&] {
    CUfunction here = nullptr;
    EXPECT_OK(cu::cuKernelGetFunction(&here, kernel));
    return function::table().find(here)->cache_preference();
  };
  EXPECT_OK(cu::cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  EXPECT_EQ(preference(), CU_FUNC_CACHE_PREFER_L1);
  CUfunction mine = nullptr;
  EXPECT_OK(cu::cuKernelGetFunction(&mine, kernel));
  EXPECT_OK(cu::cuFuncSetCacheConfig(mine, CU_FUNC_CACHE_PREFER_SHARED));
  EXPECT_EQ(preference(), CU_FUNC_CACHE_PREFER_SHARED);
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  EXPECT_EQ(preference(), CU_FUNC_CACHE_PREFER_NONE);
  EXPECT_OK(cu::cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_EQUAL));
  EXPECT_EQ(preference(), CU_FUNC_CACHE_PREFER_EQUAL);
  EXPECT_OK(cu::cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
  EXPECT_EQ(preference(), CU_FUNC_CACHE_PREFER_L1);  // the kernel's preference on this device
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_EQ(preference(), CU_FUNC_CACHE_PREFER_SHARED);
  EXPECT_OK(cu::cuCtxDestroy(other));
  EXPECT_OK(cu::cuLibraryUnload(library));
}

TEST_F(ContextSettingsTest, ThePrintBufferIsFixedAfterAKernelPrinted) {
  EXPECT_OK(cu::cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
  EXPECT_OK(launch("print", nullptr, 3));
  // The test does not wait for the kernel first. The result must not depend on whether the kernel
  // has begun.
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
}

TEST_F(ContextSettingsTest, ABufferLargerThanTheDeviceIsOutOfMemory) {
  std::size_t available = 0;
  std::size_t total = 0;
  ASSERT_OK(cu::cuMemGetInfo(&available, &total));
  for (CUlimit const which : {CU_LIMIT_MALLOC_HEAP_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE}) {
    EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu::cuCtxSetLimit(which, total + 1));
  }
}

TEST_F(ContextSettingsTest, ACallWithoutAResultPointerIsRefused) {
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxGetFlags(nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxGetDevice(nullptr));
  EXPECT_OK(cu::cuCtxGetStreamPriorityRange(nullptr, nullptr));
}

TEST_F(DriverTest, DestroyingAContextFreesAllItOwns) {
  CUcontext const a = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  std::size_t before = 0;
  std::size_t total = 0;
  ASSERT_OK(cu::cuMemGetInfo(&before, &total));
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr memory = 0;
  void* host = nullptr;
  EXPECT_OK(cu::cuStreamCreate(&stream, 0));
  EXPECT_OK(cu::cuEventCreate(&event, 0));
  EXPECT_OK(cu::cuModuleLoadData(&module, test_cpu_driver_kernels.cpu));
  EXPECT_OK(cu::cuMemAlloc(&memory, 1 << 20));
  EXPECT_OK(cu::cuMemHostAlloc(&host, 64, 0));
  EXPECT_OK(cu::cuMemsetD8Async(memory, 1, 1 << 20, stream));
  EXPECT_OK(cu::cuCtxDestroy(a));
  expect_nothing_left("after the destruction of the context");
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamQuery(stream));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventQuery(event));
  CUcontext const next = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(next));
  std::size_t after = 0;
  EXPECT_OK(cu::cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  EXPECT_OK(cu::cuCtxDestroy(next));
}

TEST_F(ContextSettingsTest, DestroyingWaitsForTheContextsWork) {
  CUcontext const other = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  std::atomic<bool> ran{false};
  CUstream where = stream();
  EXPECT_OK(cu::cuLaunchHostFunc(
      where,
      [](void* user) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *static_cast<std::atomic<bool>*>(user) = true;
      },
      &ran));
  EXPECT_OK(cu::cuCtxDestroy(other));
  EXPECT_TRUE(ran);
}

TEST_F(DriverTest, PeersAreContextsOfOtherDevices) {
  CUcontext const a = floating(0);
  CUcontext const sibling = floating(0);
  CUcontext const b = floating(1);
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  EXPECT_STATUS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cu::cuCtxEnablePeerAccess(sibling, 0));
  EXPECT_STATUS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cu::cuCtxEnablePeerAccess(a, 0));
  EXPECT_STATUS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cu::cuCtxDisablePeerAccess(b));
  EXPECT_OK(cu::cuCtxEnablePeerAccess(b, 0));
  EXPECT_STATUS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cu::cuCtxEnablePeerAccess(b, 0));
  EXPECT_OK(cu::cuCtxDisablePeerAccess(b));
  for (CUcontext const each : {a, sibling, b}) { EXPECT_OK(cu::cuCtxDestroy(each)); }
}

}  // namespace
}  // namespace flotilla::cpu_driver
