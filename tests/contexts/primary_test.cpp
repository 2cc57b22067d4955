// The primary context: the device's one, shared by count, made by nobody's cuCtxCreate.
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

// C1.20: retained, it is there for all who ask, and current for none
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

// C1.20: it is no context of anybody's to destroy
TEST_F(PrimaryContext, CannotBeDestroyed) {
  CUcontext primary = nullptr;
  EXPECT_OK(cu().device_primary_ctx_retain(&primary, device_));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu().ctx_destroy(primary));
  EXPECT_EQ(ask().active, 1);
  EXPECT_OK(cu().device_primary_ctx_release(device_));
}

// S1.4: an owned context beside it neither makes nor needs it
TEST_F(PrimaryContext, IsNotMadeByOwnedContexts) {
  {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    rt.submit([](task_context&) {}).wait();
    EXPECT_EQ(ask().active, 0);
  }
  EXPECT_EQ(ask().active, 0);
}

// S1.4: both serve side by side, and each reaches the other's memory
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
