// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Launches from kernels, and the limit of pending launches.
#include "runtime_test.hpp"

namespace flotilla::test {
namespace {

class NestedLaunches : public runtime_test {
 protected:
  struct outcome {
    int failed;
    cudaError_t first;
    std::size_t granted;
  };
  /// Creates a context, sets its limit of pending launches to `pending`, and runs a kernel that
  /// launches `children` kernels.
  outcome start(std::size_t pending, int children) {
    CUcontext const made = create();
    EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, pending));
    auto* const words = reinterpret_cast<int*>(pinned(2));
    std::size_t granted = 0;
    EXPECT_OK(cu().ctx_get_limit(&granted, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
    EXPECT_CUDART_OK(launch_children(children, words, words + 1, nullptr));
    EXPECT_CUDART_OK(cudaDeviceSynchronize());
    outcome const seen{words[0], static_cast<cudaError_t>(words[1]), granted};
    destroy(made);
    return seen;
  }
};

// C2.78 C2.80: launches from a kernel succeed while the number of pending launches is within the
// limit
TEST_F(NestedLaunches, WithinTheLimitSucceed) { EXPECT_EQ(start(8192, 4000).failed, 0); }

// C2.79: a launch from a kernel fails if the limit of pending launches is exceeded. The launching
// kernel gets an error
TEST_F(NestedLaunches, BeyondTheLimitFail) {
  outcome const seen = start(32, 20'000);
  EXPECT_GT(seen.failed, 0) << "limit: " << seen.granted;
  // The error depends on the version of the device runtime.
  EXPECT_TRUE(seen.first == cudaErrorLaunchPendingCountExceeded ||
              seen.first == cudaErrorLaunchOutOfResources)
      << cudaGetErrorName(seen.first) << ", limit: " << seen.granted;
}

// C2.81: a larger limit of pending launches needs more device memory
TEST_F(NestedLaunches, RoomForMoreTakesMemory) {
  create();
  std::size_t before = 0, after = 0, total = 0;
  EXPECT_OK(cu().mem_get_info(&before, &total));
  EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1u << 20));
  auto* const words = reinterpret_cast<int*>(pinned(2));
  EXPECT_CUDART_OK(launch_children(1, words, words + 1, nullptr));
  EXPECT_CUDART_OK(cudaDeviceSynchronize());
  EXPECT_OK(cu().mem_get_info(&after, &total));
  EXPECT_LT(after, before);
  pop();
}

}  // namespace
}  // namespace flotilla::test
