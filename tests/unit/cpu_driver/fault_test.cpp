// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A sticky fault makes the driver unusable for the whole process. Requirement: the results are
// those of a GPU's driver.
#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using FaultTest = ContextTest;

TEST_F(FaultTest, ATrapPoisonsEveryContextOfEveryDevice) {
  CUcontext const other = floating(1);
  EXPECT_OK(launch("trap", nullptr));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxSynchronize());
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUdeviceptr memory = 0;
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuMemAlloc(&memory, 4));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxSynchronize());
  CUcontext none = nullptr;
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxCreate(&none, nullptr, 0, 0));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuDevicePrimaryCtxRetain(&none, 1));
  unsigned flags = 9;
  EXPECT_OK(cu::cuCtxGetFlags(&flags));
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(FaultTest, FlagsCanStillBeSetButIdAndVersionCannotBeRead) {
  EXPECT_OK(launch("trap", nullptr));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxSynchronize());
  unsigned found = 0;
  unsigned long long id = 0;
  EXPECT_OK(cu::cuCtxSetFlags(CU_CTX_SCHED_YIELD));
  EXPECT_OK(cu::cuCtxGetFlags(&found));
  EXPECT_EQ(found, unsigned{CU_CTX_SCHED_YIELD});
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxGetId(nullptr, &id));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxGetApiVersion(nullptr, &found));
}

TEST_F(FaultTest, AFailedAssertionIsItsOwnError) {
  EXPECT_OK(launch("check", nullptr, 1));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_OK(launch("check", nullptr, 2));
  EXPECT_STATUS(CUDA_ERROR_ASSERT, cu::cuCtxSynchronize());
}

TEST_F(FaultTest, PendingWorkIsDroppedAndNoThreadHangs) {
  auto* const word = shared<std::uint32_t>(2);
  CUstream const faulting = stream();
  CUstream const waiting = stream();
  CUstream const held = stream();
  CUevent const never = event();
  EXPECT_OK(cu::cuStreamWaitValue32(held, address_of(&word[1]), 1, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_OK(launch("take", faulting, 5'000'000ll));
  EXPECT_OK(launch("trap", faulting));
  EXPECT_OK(cu::cuStreamWriteValue32(faulting, address_of(&word[0]), 1, 0));
  EXPECT_OK(cu::cuEventRecord(never, faulting));
  EXPECT_OK(cu::cuStreamWaitEvent(waiting, never, 0));
  EXPECT_OK(cu::cuStreamWriteValue32(waiting, address_of(&word[0]), 2, 0));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuEventSynchronize(never));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuStreamSynchronize(waiting));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuStreamSynchronize(held));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuStreamQuery(faulting));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuEventQuery(never));
  EXPECT_EQ(std::atomic_ref(word[0]).load(), 0u);
}

TEST_F(FaultTest, FreeingStillFreesAndReportsTheFault) {
  CUdeviceptr memory = 0;
  ASSERT_OK(cu::cuMemAlloc(&memory, 4));
  CUstream const where = stream();
  EXPECT_OK(launch("trap", where));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuStreamSynchronize(where));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuMemFree(memory));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuStreamDestroy(where));
  EXPECT_EQ(control().live_handles().allocations, 0u);
  EXPECT_EQ(control().live_handles().streams, 0u);
}

TEST_F(FaultTest, TheFirstFaultStays) {
  CUstream const where = stream();
  CUfunction const trap = function("trap");
  EXPECT_OK(launch("check", where, 0));
  EXPECT_STATUS(CUDA_ERROR_ASSERT, cu::cuStreamSynchronize(where));
  EXPECT_STATUS(CUDA_ERROR_ASSERT,
                cu::cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, where, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_ASSERT, cu::cuStreamSynchronize(where));
}

TEST_F(FaultTest, AFaultCannotBeClearedWhileAContextExists) {
  EXPECT_OK(launch("trap", nullptr));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxSynchronize());
  EXPECT_FALSE(control().reset_fault_for_tests());
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuCtxSynchronize());
}

}  // namespace
}  // namespace flotilla::cpu_driver
