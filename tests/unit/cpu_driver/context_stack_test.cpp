// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Each thread's stack of current contexts. Requirement: all results are the same as in the
// transcript of a GPU's driver.
#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using ContextStackTest = DriverTest;

TEST_F(ContextStackTest, CreatingMakesCurrentAndPoppingRestoresTheOlderOne) {
  CUcontext a = nullptr;
  CUcontext b = nullptr;
  ASSERT_OK(cu::cuCtxCreate(&a, nullptr, 0, 0));
  ASSERT_OK(cu::cuCtxCreate(&b, nullptr, 0, 0));
  EXPECT_EQ(current(), b);
  CUcontext popped = nullptr;
  EXPECT_OK(cu::cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, b);
  EXPECT_EQ(current(), a);
  EXPECT_OK(cu::cuCtxDestroy(a));
  EXPECT_OK(cu::cuCtxDestroy(b));
}

TEST_F(ContextStackTest, TheSameContextMayBePushedAgain) {
  CUcontext const a = floating();
  EXPECT_OK(cu::cuCtxPushCurrent(a));
  EXPECT_OK(cu::cuCtxPushCurrent(a));
  EXPECT_EQ(control().stack_depth(), 2u);
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_EQ(current(), a);
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuCtxDestroy(a));
}

TEST_F(ContextStackTest, SetCurrentReplacesTheTopAndNullPops) {
  CUcontext const a = floating();
  CUcontext const b = floating();
  EXPECT_OK(cu::cuCtxSetCurrent(nullptr));  // the stack is empty, so this has no effect
  EXPECT_OK(cu::cuCtxSetCurrent(a));
  EXPECT_OK(cu::cuCtxPushCurrent(a));
  EXPECT_OK(cu::cuCtxSetCurrent(b));
  EXPECT_EQ(control().stack_depth(), 2u);
  EXPECT_OK(cu::cuCtxSetCurrent(nullptr));
  EXPECT_EQ(current(), a);
  EXPECT_OK(cu::cuCtxDestroy(a));
  EXPECT_OK(cu::cuCtxDestroy(b));
}

TEST_F(ContextStackTest, EachThreadHasItsOwn) {
  CUcontext const a = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    EXPECT_OK(cu::cuCtxPushCurrent(a));  // one context can be current on two threads
    CUdeviceptr memory = 0;
    EXPECT_OK(cu::cuMemAlloc(&memory, 4));
    EXPECT_OK(cu::cuMemFree(memory));
  }).join();  // the other thread exits while the context is current on it
  EXPECT_EQ(current(), a);
  EXPECT_OK(cu::cuCtxDestroy(a));
}

TEST_F(ContextStackTest, DestroyingTheCurrentContextPopsIt) {
  CUcontext const a = floating();
  CUcontext const b = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  ASSERT_OK(cu::cuCtxPushCurrent(b));
  EXPECT_OK(cu::cuCtxDestroy(b));
  EXPECT_EQ(current(), a);
  EXPECT_OK(cu::cuCtxDestroy(a));
  EXPECT_EQ(current(), nullptr);
}

TEST_F(ContextStackTest, AContextDestroyedElsewhereStaysAndCanBePopped) {
  CUcontext const a = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  std::thread([&] { EXPECT_OK(cu::cuCtxDestroy(a)); }).join();
  EXPECT_EQ(current(), a);
  CUdeviceptr memory = 0;
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuMemAlloc(&memory, 4));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuCtxSynchronize());
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuCtxSetFlags(0));
  CUcontext popped = nullptr;
  EXPECT_OK(cu::cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, a);
}

TEST_F(ContextStackTest, InvalidContextsAreRefusedEverywhere) {
  CUcontext const gone = floating();
  ASSERT_OK(cu::cuCtxDestroy(gone));
  for (CUcontext const wrong :
       {gone, reinterpret_cast<CUcontext>(0x1000), reinterpret_cast<CUcontext>(7),
        reinterpret_cast<CUcontext>(~std::uintptr_t{0})}) {
    EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxPushCurrent(wrong));
    EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxSetCurrent(wrong));
    EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDestroy(wrong));
    unsigned version = 0;
    EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxGetApiVersion(wrong, &version));
  }
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxPushCurrent(nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuCtxDestroy(nullptr));
}

// error guess: a new context is in the memory of a destroyed context. The handles must still be
// different.
TEST_F(ContextStackTest, HandlesAreNeverReused) {
  CUcontext const first = floating();
  EXPECT_OK(cu::cuCtxDestroy(first));
  for (int i = 0; i < 100; ++i) {
    CUcontext const next = floating();
    EXPECT_NE(next, first);
    EXPECT_OK(cu::cuCtxDestroy(next));
  }
}

TEST_F(ContextStackTest, AttachCountsAndTheLastDetachDestroys) {
  CUcontext const a = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(a));
  CUcontext attached = nullptr;
  EXPECT_OK(cu::cuCtxAttach(&attached, 0));
  EXPECT_EQ(attached, a);
  EXPECT_OK(cu::cuCtxDetach(a));
  EXPECT_EQ(control().live_handles().contexts, 1u);
  EXPECT_OK(cu::cuCtxDetach(a));
  EXPECT_EQ(control().live_handles().contexts, 0u);
}

}  // namespace
}  // namespace flotilla::cpu_driver
