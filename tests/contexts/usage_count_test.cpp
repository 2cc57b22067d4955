// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Usage counts of contexts, a deprecated way of sharing a context between libraries: each library
// attaches to the context and detaches from it later.
#include "contexts_test.hpp"

#include <atomic>

#include "support/eventually.hpp"
#include "support/hold.hpp"

namespace flotilla::test {
namespace {

class UsageCount : public contexts_test {
 protected:
  void SetUp() override {
    contexts_test::SetUp();
    if (IsSkipped()) { return; }
    if (cu().ctx_attach == nullptr || cu().ctx_detach == nullptr) {
      GTEST_SKIP() << "needs a driver with cuCtxAttach and cuCtxDetach";
    }
  }
};

// C1.16 C1.18 C3.5 C3.6 C4.53: a context still exists after it has been detached as often as
// attached
TEST_F(UsageCount, AttachedAndDetachedTheContextLives) {
  CUcontext const made = create();
  for (int i = 0; i < 3; ++i) {
    CUcontext attached = nullptr;
    EXPECT_OK(cu().ctx_attach(&attached, 0));
    EXPECT_EQ(attached, made);
  }
  for (int i = 0; i < 3; ++i) { EXPECT_OK(cu().ctx_detach(made)); }
  EXPECT_EQ(current(), made);
  allocate(64);
  pop();
}

// C1.21 C1.22 C4.54: three libraries attach to the application's context, use the same memory of
// this context, and detach again
TEST_F(UsageCount, ThreeLibrariesShareTheApplicationsContext) {
  CUcontext const application = create();
  std::uint32_t* const value = pinned(1);
  *value = 1;
  CUmodule const module = load();
  std::vector<CUcontext> attached(3);
  for (CUcontext& each : attached) {
    EXPECT_OK(cu().ctx_attach(&each, 0));
    EXPECT_EQ(each, application);
    EXPECT_OK(launch(function(module, "times_plus"), nullptr, value, 2, 1));
  }
  for (CUcontext const each : attached) { EXPECT_OK(cu().ctx_detach(each)); }
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(*value, 15u);
  EXPECT_EQ(current(), application);
  pop();
}

// error guess: `cuCtxAttach` fails if no context is current
TEST_F(UsageCount, NeedsTheContextCurrent) {
  CUcontext attached = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu().ctx_attach(&attached, 0));
  EXPECT_EQ(attached, nullptr);
}

// C1.17 C1.19 C2.2 C4.52: a new context has the usage count one, so a detach without an attach
// destroys the context. If the context is still current on another thread, calls on that thread
// return CUDA_ERROR_CONTEXT_IS_DESTROYED
TEST_F(UsageCount, TheLastDetachDestroys) {
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  CUcontext made = nullptr;  // not created by the fixture, which would destroy it a second time
  ASSERT_OK(cu().ctx_create(&made, 0, device));
  latch detached;
  std::atomic<bool> ready{false};
  std::thread other{[&] {
    EXPECT_OK(cu().ctx_push_current(made));
    ready = true;
    detached.wait();
    CUdeviceptr memory = 0;
    EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu().mem_alloc(&memory, 4));
    EXPECT_OK(cu().ctx_pop_current(nullptr));
  }};
  EXPECT_TRUE(eventually([&] { return ready.load(); }));
  EXPECT_OK(cu().ctx_detach(made));
  detached.open();
  other.join();
  EXPECT_EQ(current(), nullptr);
}

// C1.19 C2.2: `cuCtxDestroy` destroys a context whatever its usage count is. Another thread, on
// which the context is still current, gets CUDA_ERROR_CONTEXT_IS_DESTROYED
TEST_F(UsageCount, DestroyingIgnoresTheCount) {
  CUcontext const made = create();
  for (int i = 0; i < 3; ++i) {
    CUcontext attached = nullptr;
    EXPECT_OK(cu().ctx_attach(&attached, 0));
  }
  latch destroyed;
  std::atomic<bool> ready{false};
  std::thread other{[&] {
    EXPECT_OK(cu().ctx_push_current(made));
    CUdeviceptr memory = 0;
    EXPECT_OK(cu().mem_alloc(&memory, 4));
    ready = true;
    destroyed.wait();
    EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu().mem_alloc(&memory, 4));
    EXPECT_OK(cu().ctx_pop_current(nullptr));
  }};
  EXPECT_TRUE(eventually([&] { return ready.load(); }));
  destroy(made);
  EXPECT_EQ(current(), nullptr);
  destroyed.open();
  other.join();
}

}  // namespace
}  // namespace flotilla::test
