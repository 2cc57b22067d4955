// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Limits of contexts: requested and granted values. Each context has its own limits.
#include "contexts_test.hpp"

#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class ContextLimits : public contexts_test {
 protected:
  static std::size_t get(CUlimit which) {
    std::size_t value = 0;
    EXPECT_OK(cu().ctx_get_limit(&value, which));
    return value;
  }
  static void set(CUlimit which, std::size_t value) { EXPECT_OK(cu().ctx_set_limit(which, value)); }
};

// C2.35 C2.36: every limit that current drivers support has a value
TEST_F(ContextLimits, EachHasAValue) {
  create();
  EXPECT_GE(get(CU_LIMIT_STACK_SIZE), 1u);
  EXPECT_GE(get(CU_LIMIT_PRINTF_FIFO_SIZE), 1u);
  EXPECT_GE(get(CU_LIMIT_MALLOC_HEAP_SIZE), 1u);
  EXPECT_GE(get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 1u);
  std::size_t value = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu().ctx_get_limit(&value, static_cast<CUlimit>(99)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu().ctx_set_limit(static_cast<CUlimit>(99), 0));
  pop();
}

// C2.63 C2.64 C2.65: the driver rounds a requested limit up or raises it to the minimum, and
// returns the granted value
TEST_F(ContextLimits, RequestsAreAdjustedAndReadBack) {
  create();
  set(CU_LIMIT_STACK_SIZE, 1000);
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE) % 16, 0u);
  EXPECT_GE(get(CU_LIMIT_STACK_SIZE), 1000u);
  set(CU_LIMIT_PRINTF_FIFO_SIZE, 1);
  EXPECT_GT(get(CU_LIMIT_PRINTF_FIFO_SIZE), 1u);
  set(CU_LIMIT_MALLOC_HEAP_SIZE, 1);
  EXPECT_GT(get(CU_LIMIT_MALLOC_HEAP_SIZE), 1u);
  set(CU_LIMIT_PRINTF_FIFO_SIZE, 16u << 20);
  EXPECT_EQ(get(CU_LIMIT_PRINTF_FIFO_SIZE), 16u << 20);
  pop();
}

// C2.65: `effective_settings` of a flotilla runtime returns the granted limits
TEST_F(ContextLimits, ARuntimeSaysWhatWasGranted) {
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.stack_bytes = 5000;
  options.settings.all.malloc_heap_bytes = 1;
  runtime const rt{options};
  device_settings const granted = rt.effective_settings(device_ordinal{0});
  ASSERT_TRUE(granted.stack_bytes && granted.malloc_heap_bytes);
  EXPECT_GE(*granted.stack_bytes, 5000u);
  EXPECT_EQ(*granted.stack_bytes % 16, 0u);
  EXPECT_GT(*granted.malloc_heap_bytes, 1u);
}

// error guess: if the driver refuses a limit, the error names the limit and the device, and nothing
// leaks
TEST_F(ContextLimits, ARuntimeNamesARefusedLimit) {
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.stack_bytes = 64u << 20;
  EXPECT_THAT(thrown<error>([&] { runtime const rt{options}; }),
              AllOf(HasSubstr("limits.stack"), HasSubstr("device 0")));
  EXPECT_EQ(current(), nullptr);
}

// C2.66: the stack size per GPU thread can be raised and lowered again
TEST_F(ContextLimits, TheStackLimitIsRaisedAndLowered) {
  create();
  std::size_t const initial = get(CU_LIMIT_STACK_SIZE);
  set(CU_LIMIT_STACK_SIZE, 64u << 10);
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), 64u << 10);
  set(CU_LIMIT_STACK_SIZE, initial);
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), initial);
  pop();
}

// C2.71 C2.74: current drivers do not support the limit for the sync depth and refuse every value
TEST_F(ContextLimits, TheSyncDepthIsUnsupported) {
  create();
  std::size_t value = 0;
  EXPECT_STATUS(CUDA_ERROR_UNSUPPORTED_LIMIT,
                cu().ctx_get_limit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
  for (std::size_t const depth : {1u, 2u, 24u}) {
    EXPECT_STATUS(CUDA_ERROR_UNSUPPORTED_LIMIT,
                  cu().ctx_set_limit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, depth));
  }
  pop();
}

// C2.78 C2.80: the limit of pending launches is 2048 by default and can be changed
TEST_F(ContextLimits, ThePendingLaunchCountCanBeRaised) {
  create();
  EXPECT_EQ(get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 2048u);
  set(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 4096);
  EXPECT_EQ(get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 4096u);
  set(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1);
  std::size_t const least = get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT);
  EXPECT_GE(least, 1u);
  EXPECT_LT(least, 2048u);
  pop();
}

// C2.82: the driver does not grant an impossible number of pending launches. It refuses the
// request, or it grants the largest possible number (as on an H200). Afterwards the number can be
// lowered
TEST_F(ContextLimits, AnImpossiblePendingLaunchCountIsRefusedAndCanBeLowered) {
  create();
  std::size_t const before = get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT);
  CUresult const answer =
      cu().ctx_set_limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, std::size_t{1} << 40);
  std::size_t const granted = get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT);
  if (answer == CUDA_SUCCESS) {
    EXPECT_LT(granted, std::size_t{1} << 40);
    EXPECT_GE(granted, before);
  } else {
    EXPECT_TRUE(answer == CUDA_ERROR_INVALID_VALUE || answer == CUDA_ERROR_OUT_OF_MEMORY)
        << name_of(answer);
    EXPECT_EQ(granted, before);
  }
  set(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1024);
  EXPECT_EQ(get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 1024u);
  pop();
}

// C4.62 C2.36: a limit belongs to one context. Every thread reads the same value, and other
// contexts keep their own values
TEST_F(ContextLimits, BelongToTheContextWhoeverSetThem) {
  CUcontext const one = floating(), other = floating();
  {
    pushed const here{other};
    set(CU_LIMIT_STACK_SIZE, 4096);
  }
  elsewhere([&] {
    pushed const here{one};
    set(CU_LIMIT_STACK_SIZE, 8192);
    set(CU_LIMIT_PRINTF_FIFO_SIZE, 2u << 20);
  });
  {
    pushed const here{other};
    EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), 4096u);
    EXPECT_NE(get(CU_LIMIT_PRINTF_FIFO_SIZE), 2u << 20);
  }
  pushed const here{one};
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), 8192u);
  EXPECT_EQ(get(CU_LIMIT_PRINTF_FIFO_SIZE), 2u << 20);
}

}  // namespace
}  // namespace flotilla::test
