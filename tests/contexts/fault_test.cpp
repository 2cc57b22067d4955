// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// After a kernel fault, later driver calls return the error of the fault. A fault affects the whole
// process, so each test runs in a child process.
#include "contexts_test.hpp"

#include <algorithm>

#include "support/child.hpp"

namespace flotilla::test {
namespace {

class ContextFaults : public contexts_test {
 protected:
  /// Creates a context and launches a kernel that faults. Call this function only in a child
  /// process.
  /// @return the result of `cuCtxSynchronize`.
  static CUresult faulted(CUcontext& made) {
    CUdevice device{};
    EXPECT_OK(cu().device_get(&device, 0));
    EXPECT_OK(cu().ctx_create(&made, 0, device));
    EXPECT_OK(launch(function(load(), "trap_now"), nullptr));
    return cu().ctx_synchronize();
  }
};

// C2.90: `cuCtxSynchronize` returns the error of a kernel that failed
TEST_F(ContextFaults, SynchronizingReportsAFailedKernel) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext made = nullptr;
    CUresult const answer = faulted(made);
    EXPECT_NE(answer, CUDA_SUCCESS);
    EXPECT_TRUE(is_sticky(static_cast<driver_status>(answer))) << name_of(answer);
  });
}

// C2.19: after a kernel fault, even unrelated calls return the error of the fault. Calls that
// change or read the context stack work as before
TEST_F(ContextFaults, LaterCallsReportItButForThoseOfTheStack) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext made = nullptr;
    CUresult const fault = faulted(made);
    CUdeviceptr memory = 0;
    CUstream none = nullptr;
    CUcontext other = nullptr;
    CUdevice device{};
    EXPECT_OK(cu().device_get(&device, 0));
    EXPECT_STATUS(fault, cu().mem_alloc(&memory, 4));
    EXPECT_STATUS(fault, cu().stream_create(&none, 0));
    EXPECT_STATUS(fault, cu().ctx_create(&other, 0, device));
    EXPECT_STATUS(fault, cu().ctx_set_limit(CU_LIMIT_STACK_SIZE, 2048));
    unsigned flags = 1;
    EXPECT_OK(cu().ctx_get_flags(&flags));
    EXPECT_OK(cu().ctx_push_current(made));
    EXPECT_OK(cu().ctx_pop_current(nullptr));
    EXPECT_EQ(current(), made);
    EXPECT_OK(cu().ctx_pop_current(nullptr));
    EXPECT_OK(cu().ctx_destroy(made));
  });
}

// C1.1 (current drivers differ from the documentation): a fault makes all contexts of the process
// unusable
TEST_F(ContextFaults, EveryContextOfTheProcessIsLost) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUdevice device{};
    EXPECT_OK(cu().device_get(&device, std::min(2, devices_there()) - 1));
    CUcontext bystander = nullptr;
    EXPECT_OK(cu().ctx_create(&bystander, 0, device));
    EXPECT_OK(cu().ctx_pop_current(nullptr));
    CUcontext made = nullptr;
    CUresult const fault = faulted(made);
    EXPECT_OK(cu().ctx_push_current(bystander));
    EXPECT_STATUS(fault, cu().ctx_synchronize());
    EXPECT_OK(cu().ctx_pop_current(nullptr));
    EXPECT_OK(cu().ctx_pop_current(nullptr));
  });
}

// C1.1: a context stays usable after the driver has refused a launch
TEST_F(ContextFaults, ARefusedLaunchLeavesTheContextGood) {
  create();
  CUmodule const module = load();
  CUfunction const nothing = function(module, "nothing");
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().launch_kernel(nothing, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().launch_kernel(nothing, 1, 1, 1, 1, 1, 1, 300'000, nullptr, nullptr, nullptr));
  CUfunction missing = nullptr;
  EXPECT_STATUS(CUDA_ERROR_NOT_FOUND, cu().module_get_function(&missing, module, "nobody"));
  std::uint32_t* const word = pinned(1);
  EXPECT_OK(launch(function(module, "put"), nullptr, word, 42));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(*word, 42u);
  pop();
}

}  // namespace
}  // namespace flotilla::test
