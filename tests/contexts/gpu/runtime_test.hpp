// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests that use CUDA's runtime library.

#include <cuda_runtime_api.h>

#include "contexts_test.hpp"
#include "runtime_kernels.hpp"
#include "support/child.hpp"

#define EXPECT_CUDART(status, call) EXPECT_STREQ(cudaGetErrorName(status), cudaGetErrorName(call))
#define EXPECT_CUDART_OK(call) EXPECT_CUDART(cudaSuccess, call)

namespace flotilla::test {

class runtime_test : public contexts_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_GPUS(1);
    contexts_test::SetUp();
    if (IsSkipped()) { return; }
    ASSERT_OK(cu().device_get(&device_, 0));
  }
  struct primary_state {
    unsigned flags;
    int active;
  };
  static primary_state primary() {
    primary_state now{99, 99};
    CUdevice device{};
    EXPECT_OK(cu().device_get(&device, 0));
    EXPECT_OK(cu().device_primary_ctx_get_state(device, &now.flags, &now.active));
    return now;
  }
  /// Makes the runtime library create its context, which must be on device 1.
  static void expect_context_on_device_1() {
    EXPECT_CUDART_OK(cudaFree(nullptr));
    CUdevice expected{}, found{};
    EXPECT_OK(cu().device_get(&expected, 1));
    EXPECT_OK(cu().ctx_get_device(&found));
    EXPECT_EQ(found, expected);
    EXPECT_EQ(primary().active, 0) << "device 0 must have no primary context";
  }
  /// Returns the driver function `name`, or null if the driver has none. flotilla's own table lacks
  /// the functions for arrays and textures, so the test asks the runtime library for the address.
  template <class Function>
  static Function entry(char const* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how{};
    EXPECT_CUDART_OK(
        cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &how));
    return how == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(found) : nullptr;
  }
  static CUcontext owner_of(void const* memory) {
    CUcontext found = nullptr;
    EXPECT_OK(cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT,
                                         reinterpret_cast<CUdeviceptr>(memory)));
    return found;
  }
  /// Creates a context that is never destroyed. Call this function only in a child process.
  static CUcontext create_in_child() {
    CUdevice device{};
    EXPECT_OK(cu().device_get(&device, 0));
    CUcontext made = nullptr;
    EXPECT_OK(cu().ctx_create(&made, 0, device));
    return made;
  }
  static void* runtime_memory(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_CUDART_OK(cudaMalloc(&made, bytes));
    return made;
  }
  CUdevice device_{};
};

}  // namespace flotilla::test
