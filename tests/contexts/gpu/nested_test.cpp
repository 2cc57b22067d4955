// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Launches from kernels, and the limit of pending launches.
#include "runtime_test.hpp"

#include <utility>

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

// C2.78 C2.79: the same for the limit that a runtime sets in the contexts of its devices
TEST_F(NestedLaunches, KeepToTheLimitOfARuntime) {
  for (auto const& [pending, children] : {std::pair{8192u, 4000}, std::pair{32u, 20'000}}) {
    runtime_options options{.devices = device_spec(1), .workers = 1};
    options.settings.all.pending_launches = pending;
    runtime rt{options};
    EXPECT_EQ(rt.effective_settings(device_ordinal{0}).pending_launches, pending);
    host_buffer<int> words{rt, 2};
    words[0] = words[1] = 0;
    rt.submit([&, children = children](task_context& context) {
        EXPECT_CUDART_OK(
            launch_children(children, words.data(), words.data() + 1, context.stream()));
      }).wait();
    if (pending > 4000) {
      EXPECT_EQ(words[0], 0);
    } else {
      EXPECT_GT(words[0], 0);
      auto const first = static_cast<cudaError_t>(words[1]);
      EXPECT_TRUE(first == cudaErrorLaunchPendingCountExceeded ||
                  first == cudaErrorLaunchOutOfResources)
          << cudaGetErrorName(first);
    }
  }
}

// C2.81: a larger limit of pending launches needs more device memory
TEST_F(NestedLaunches, RoomForMoreTakesMemory) {
  create();
  std::size_t const before = free_bytes();
  EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1u << 20));
  auto* const words = reinterpret_cast<int*>(pinned(2));
  EXPECT_CUDART_OK(launch_children(1, words, words + 1, nullptr));
  EXPECT_CUDART_OK(cudaDeviceSynchronize());
  EXPECT_LT(free_bytes(), before);
  pop();
}

}  // namespace
}  // namespace flotilla::test
