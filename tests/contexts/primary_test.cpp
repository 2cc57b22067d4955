// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The primary context of a device. All code that retains the primary context shares it. The context
// stays active until it has been released as often as it was retained.
#include "contexts_test.hpp"

namespace flotilla::test {
namespace {

class PrimaryContext : public contexts_test {
 protected:
  void SetUp() override {
    contexts_test::SetUp();
    if (IsSkipped()) { return; }
    ASSERT_OK(cu().device_get(&device_, 0));
  }
  struct state {
    unsigned flags;
    int active;
  };
  [[nodiscard]] state ask() const {
    state now{99, 99};
    EXPECT_OK(cu().device_primary_ctx_get_state(device_, &now.flags, &now.active));
    return now;
  }
  CUdevice device_{};
};

// C1.20: all code that retains the primary context gets the same context. `retain` makes this
// context active, but does not make it current on any thread
TEST_F(PrimaryContext, IsOneForAllWhoRetainIt) {
  EXPECT_EQ(ask().active, 0);
  CUcontext one = nullptr, two = nullptr;
  EXPECT_OK(cu().device_primary_ctx_retain(&one, device_));
  EXPECT_OK(cu().device_primary_ctx_retain(&two, device_));
  EXPECT_EQ(one, two);
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(ask().active, 1);
  {
    pushed const here{one};
    allocate(64);
  }
  EXPECT_OK(cu().device_primary_ctx_release(device_));
  EXPECT_EQ(ask().active, 1);
  EXPECT_OK(cu().device_primary_ctx_release(device_));
  EXPECT_EQ(ask().active, 0);
}

// C1.20: the primary context cannot be destroyed
TEST_F(PrimaryContext, CannotBeDestroyed) {
  CUcontext primary = nullptr;
  EXPECT_OK(cu().device_primary_ctx_retain(&primary, device_));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu().ctx_destroy(primary));
  EXPECT_EQ(ask().active, 1);
  EXPECT_OK(cu().device_primary_ctx_release(device_));
}

// S1.4: a runtime that owns its context does not create the primary context
TEST_F(PrimaryContext, IsNotMadeByOwnedContexts) {
  {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    rt.submit([](task_context&) {}).wait();
    EXPECT_EQ(ask().active, 0);
  }
  EXPECT_EQ(ask().active, 0);
}

// S1.4: the primary context and a runtime's own context can be used side by side, and tasks can
// access memory of the primary context
TEST_F(PrimaryContext, ServesBesideARuntimesOwnContexts) {
  CUcontext primary = nullptr;
  EXPECT_OK(cu().device_primary_ctx_retain(&primary, device_));
  CUdeviceptr memory = 0;
  {
    pushed const here{primary};
    memory = allocate(4);
  }
  {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    rt.submit([&](task_context& context) {
        EXPECT_NE(context.context(), primary);
        EXPECT_OK(cu().memset_d8_async(memory, 3, 4, context.stream()));
      }).wait();
  }
  int seen = 0;
  {
    pushed const here{primary};
    EXPECT_OK(cu().memcpy_dtoh(&seen, memory, 4));
    EXPECT_OK(cu().mem_free(memory));
  }
  EXPECT_EQ(seen, 0x03030303);
  EXPECT_OK(cu().device_primary_ctx_release(device_));
}

}  // namespace
}  // namespace flotilla::test
