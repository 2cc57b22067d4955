// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The flags with which a context is created.
#include <flotilla/testing/fault_injection.hpp>

#include "contexts_test.hpp"

#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using ContextFlags = contexts_test;

unsigned flags_of_current() {
  unsigned flags = ~0u;
  EXPECT_OK(driver_in_use().ctx_get_flags(&flags));
  return flags;
}

// C2.34 C2.5 C2.7 C2.8 C2.10 C2.13 C2.15: the driver returns the flags with which a context was
// created
TEST_F(ContextFlags, AreReadBackAsGiven) {
  for (unsigned const flags : {unsigned{CU_CTX_SCHED_AUTO}, unsigned{CU_CTX_SCHED_SPIN},
                               unsigned{CU_CTX_SCHED_YIELD}, unsigned{CU_CTX_SCHED_BLOCKING_SYNC},
                               unsigned{CU_CTX_MAP_HOST}, unsigned{CU_CTX_LMEM_RESIZE_TO_MAX},
                               unsigned{CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_LMEM_RESIZE_TO_MAX}}) {
    CUcontext const made = create(flags);
    EXPECT_EQ(flags_of_current(), flags);
    destroy(made);
  }
}

// C2.4: the driver refuses to create a context with the flags of more than one wait policy
TEST_F(ContextFlags, MoreThanOneWayToWaitIsRefused) {
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  for (unsigned const flags : {3u, 5u, 6u, 7u}) {
    CUcontext made = nullptr;
    EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu().ctx_create(&made, flags, device)) << flags;
    EXPECT_EQ(current(), nullptr);
  }
}

// error guess: the driver refuses flags and devices that do not exist
TEST_F(ContextFlags, UnknownOnesAreRefused) {
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  CUcontext made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu().ctx_create(&made, 0x100, device));
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu().ctx_create(&made, 0, 99));
}

// C2.9: the deprecated flag CU_CTX_BLOCKING_SYNC has the same value as CU_CTX_SCHED_BLOCKING_SYNC
TEST_F(ContextFlags, TheElderBlockingFlagIsTheYoungerOne) {
  CUcontext const made = create(CU_CTX_BLOCKING_SYNC);
  EXPECT_EQ(flags_of_current(), unsigned{CU_CTX_SCHED_BLOCKING_SYNC});
  destroy(made);
}

// C2.10: a context that is created without flags has the wait policy CU_CTX_SCHED_AUTO
TEST_F(ContextFlags, ZeroIsAutomatic) {
  static_assert(CU_CTX_SCHED_AUTO == 0);
  CUcontext const made = create(0);
  EXPECT_EQ(flags_of_current() & CU_CTX_SCHED_MASK, unsigned{CU_CTX_SCHED_AUTO});
  destroy(made);
}

// C2.13 C2.14: kernels can access pinned memory of a context with the flag CU_CTX_MAP_HOST. On
// current drivers, kernels can also access this memory without the flag
TEST_F(ContextFlags, PinnedMemoryIsMappedWithAndWithoutTheFlag) {
  for (unsigned const flags : {unsigned{CU_CTX_MAP_HOST}, 0u}) {
    CUcontext const made = create(flags);
    std::uint32_t* const word = pinned(1);
    CUdeviceptr seen = 0;
    ASSERT_OK(cu().mem_host_get_device_pointer(&seen, word, 0));
    EXPECT_OK(launch(function(load(), "put"), nullptr, seen, 31));
    EXPECT_OK(cu().ctx_synchronize());
    EXPECT_EQ(*word, 31u);
    destroy(made);
  }
}

// C2.15: in a context with CU_CTX_LMEM_RESIZE_TO_MAX, the driver does not free the local memory of
// a kernel that has ended. If kernels with little and with much local memory take turns, the
// results are correct
TEST_F(ContextFlags, LocalMemoryCanBeKept) {
  create(CU_CTX_LMEM_RESIZE_TO_MAX);
  CUmodule const module = load();
  CUfunction const large = function(module, "large_frame");
  CUfunction const small = function(module, "nothing");
  std::uint32_t* const word = pinned(1);
  EXPECT_OK(launch(large, nullptr, 1u, word));
  EXPECT_OK(cu().ctx_synchronize());
  std::size_t after_first = 0, left = 0, total = 0;
  EXPECT_OK(cu().mem_get_info(&after_first, &total));
  for (int i = 0; i < 20; ++i) {
    *word = ~0u;
    EXPECT_OK(launch(small, nullptr));
    EXPECT_OK(launch(large, nullptr, 1u, word));
    EXPECT_OK(cu().ctx_synchronize());
    EXPECT_EQ(*word, 1u);  // `large_frame` returns frame[0], which is 0 ^ 1
    EXPECT_OK(cu().mem_get_info(&left, &total));
    // The driver has not freed the local memory. The margin of 64 MiB is for memory that other
    // processes free meanwhile.
    EXPECT_LE(left, after_first + (64u << 20));
  }
  pop();
}

// C2.17: the compute mode of a device can be queried
TEST_F(ContextFlags, TheComputeModeCanBeAsked) {
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  int mode = -1;
  EXPECT_OK(cu().device_get_attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device));
  // The mode cannot be "prohibited", because the tests create contexts on this device.
  EXPECT_TRUE(mode == CU_COMPUTEMODE_DEFAULT || mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) << mode;
}

// C2.16: if the driver refuses to create a context, flotilla's error names the driver call, the
// device and the status; no context remains current
TEST_F(ContextFlags, ARefusedCreationIsNamed) {
  FLOTILLA_NEED_CPU_DRIVER();
  testing::fail_call("cuCtxCreate", 1, driver_status::unknown);
  EXPECT_THAT(
      thrown<driver_error>([] { runtime const rt{{.devices = "cpu:1"}}; }),
      AllOf(HasSubstr("cuCtxCreate"), HasSubstr("device 0"), HasSubstr("CUDA_ERROR_UNKNOWN")));
  EXPECT_EQ(current(), nullptr);
}

}  // namespace
}  // namespace flotilla::test
