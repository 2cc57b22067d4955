// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Devices and contexts that an application chooses through CUDA's runtime library, and two
// instances of the library in one process. Most tests create a primary context, so they run in a
// child process.
#include "runtime_test.hpp"

#include <cstdio>

#include "second_runtime.hpp"

namespace flotilla::test {
namespace {

class RuntimeInstances : public runtime_test {
 protected:
  void SetUp() override {
    runtime_test::SetUp();
    if (IsSkipped()) { return; }
    if (!other_runtime().there()) {
      GTEST_SKIP() << "needs libcudart.so beside the static library: " << other_runtime().why_not();
    }
  }
  static void* memory_of_other(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_CUDART_OK(other_runtime().allocate(&made, bytes));
    return made;
  }
};

using RuntimeDevices = runtime_test;

// C3.2: the runtime library creates the primary context on the first valid device
TEST_F(RuntimeDevices, ItsContextIsOnTheFirstValidDevice) {
  FLOTILLA_NEED_GPUS(2);
  FLOTILLA_EXPECT_IN_CHILD([] {
    int valid[] = {1};
    EXPECT_CUDART_OK(cudaSetValidDevices(valid, 1));
    expect_context_on_device_1();
  });
}

// C3.2: `cudaSetValidDevices` accepts devices that exist, and the context is on one of them
TEST_F(RuntimeDevices, ValidDevicesMustExist) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    int valid[] = {0}, missing[] = {99};
    EXPECT_CUDART(cudaErrorInvalidDevice, cudaSetValidDevices(missing, 1));
    EXPECT_CUDART(cudaErrorInvalidValue, cudaSetValidDevices(nullptr, 1));
    static_cast<void>(cudaGetLastError());
    EXPECT_CUDART_OK(cudaSetValidDevices(valid, 1));
    EXPECT_EQ(primary().active, 0) << "the call must not create the context";
    EXPECT_CUDART_OK(cudaFree(nullptr));
    EXPECT_EQ(primary().active, 1);
  });
}

// C3.4: `cudaSetValidDevices` with a context current. The text expects an error, but on an H200 no
// context is current afterwards, and the library makes and uses the primary context
TEST_F(RuntimeDevices, SettingValidDevicesLeavesNoContextCurrent) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext const mine = create_in_child();
    int valid[] = {0};
    cudaError_t const answer = cudaSetValidDevices(valid, 1);
    EXPECT_TRUE(answer == cudaSuccess || answer == cudaErrorSetOnActiveProcess ||
                answer == cudaErrorIncompatibleDriverContext)
        << cudaGetErrorName(answer);
    EXPECT_EQ(current(), nullptr);
    static_cast<void>(cudaGetLastError());
    EXPECT_NE(owner_of(runtime_memory(4)), mine);
    EXPECT_EQ(primary().active, 1);
  });
}

// C3.8: a context of the driver API that is current is used by both instances, and neither keeps it
// alive
TEST_F(RuntimeInstances, BothUseTheContextThatIsCurrent) {
  CUcontext const mine = create();
  void* const one = runtime_memory(4);
  void* const two = memory_of_other(4);
  EXPECT_EQ(owner_of(one), mine);
  EXPECT_EQ(owner_of(two), mine);
  EXPECT_CUDART_OK(other_runtime().fill(one, 3, 4));
  int seen = 0;
  EXPECT_CUDART_OK(other_runtime().synchronize());
  EXPECT_CUDART_OK(cudaMemcpy(&seen, one, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(seen, 0x03030303);
  EXPECT_EQ(primary().active, 0);
  destroy(mine);
  CUcontext found = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT,
                                           reinterpret_cast<CUdeviceptr>(two)));
}

// C3.8: without a current context, both instances use the one primary context. An instance does not
// count the references of the other: if one resets the device, the memory of both is gone
TEST_F(RuntimeInstances, AResetByOneEndsTheContextOfBoth) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    void* const one = runtime_memory(4);
    void* const two = memory_of_other(4);
    EXPECT_EQ(owner_of(one), owner_of(two));
    EXPECT_EQ(primary().active, 1);
    EXPECT_CUDART_OK(other_runtime().reset());
    EXPECT_EQ(primary().active, 0);
    CUcontext found = nullptr;
    for (void const* const each : {one, two}) {
      EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                    cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT,
                                               reinterpret_cast<CUdeviceptr>(each)));
    }
    // The next call of either instance makes the context active again.
    memory_of_other(4);
    EXPECT_EQ(primary().active, 1);
    void* again = nullptr;
    cudaError_t const answer = cudaMalloc(&again, 4);
    std::fprintf(stderr, "cudaMalloc after the other instance has reset the device: %s\n",
                 cudaGetErrorName(answer));
    EXPECT_CUDART_OK(answer);
  });
}

}  // namespace
}  // namespace flotilla::test
