// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The flags with which a context is created.
#include <flotilla/testing/fault_injection.hpp>

#include "contexts_test.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"
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

/// Lets kernels with much and with little local memory take turns in a new context, and checks
/// their results.
/// @return how many bytes of device memory the driver has freed after the first kernel with much
/// local memory. Negative if it has allocated more.
std::int64_t freed_after_the_first_large_frame(CUmodule module, std::uint32_t* word) {
  auto const& cu = driver_in_use();
  auto const run = [&](char const* name, std::vector<void*> arguments) {
    CUfunction function = nullptr;
    EXPECT_OK(cu.module_get_function(&function, module, name));
    arguments.push_back(nullptr);
    EXPECT_OK(cu.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr));
    EXPECT_OK(cu.ctx_synchronize());
  };
  auto const free_bytes = [&] {
    std::size_t left = 0, total = 0;
    EXPECT_OK(cu.mem_get_info(&left, &total));
    return static_cast<std::int64_t>(left);
  };
  unsigned steps = 1;
  run("large_frame", {&steps, &word});
  std::int64_t const after_first = free_bytes();
  std::int64_t most = after_first;
  for (int i = 0; i < 20; ++i) {
    *word = ~0u;
    run("nothing", {});
    most = std::max(most, free_bytes());
    run("large_frame", {&steps, &word});
    EXPECT_EQ(*word, 1u);  // `large_frame` returns frame[0], which is 0 ^ 1
    most = std::max(most, free_bytes());
  }
  return most - after_first;
}

// C2.15: kernels with little and with much local memory can take turns, with and without the flag
// CU_CTX_LMEM_RESIZE_TO_MAX
TEST_F(ContextFlags, KernelsWithMuchAndLittleLocalMemoryTakeTurns) {
  for (unsigned const flags : {unsigned{CU_CTX_LMEM_RESIZE_TO_MAX}, 0u}) {
    CUcontext const made = create(flags);
    static_cast<void>(freed_after_the_first_large_frame(load(), pinned(1)));
    destroy(made);
  }
}

// C2.15 C4.9: in a context with CU_CTX_LMEM_RESIZE_TO_MAX, the driver does not free the local
// memory of a kernel that has ended. The control is a context without the flag: current drivers do
// not free the memory there either
TEST_F(ContextFlags, LocalMemoryCanBeKept) {
  if (!on_gpus()) { GTEST_SKIP() << "needs a GPU: a CPU device has its local memory on the host"; }
  // Other processes may free memory meanwhile. The local memory of `large_frame` is much larger:
  // 16 KiB for each of the threads that can run at the same time.
  constexpr std::int64_t margin = 64 << 20;
  for (unsigned const flags : {unsigned{CU_CTX_LMEM_RESIZE_TO_MAX}, 0u}) {
    CUcontext const made = create(flags);
    std::int64_t const freed = freed_after_the_first_large_frame(load(), pinned(1));
    std::fprintf(stderr, "measured: flags %u: %lld bytes of local memory were freed\n", flags,
                 static_cast<long long>(freed));
    EXPECT_LE(freed, margin) << "flags " << flags;
    destroy(made);
  }
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

// C2.16: a device whose compute mode prohibits contexts creates none, and flotilla's error names
// the mode and the command that changes it. Only an administrator can set the mode of a GPU
TEST_F(ContextFlags, AProhibitedDeviceMakesNoContext) {
  FLOTILLA_NEED_CPU_DRIVER();
  char error[256] = "";
  EXPECT_EQ(driver::cpu_control().inject("mode=1:prohibited", error, sizeof error), 0) << error;
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 1));
  int mode = -1;
  EXPECT_OK(cu().device_get_attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device));
  EXPECT_EQ(mode, CU_COMPUTEMODE_PROHIBITED);
  CUcontext made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_UNKNOWN, cu().ctx_create(&made, 0, device));
  EXPECT_THAT(thrown<driver_error>([] { runtime const rt{{.devices = "cpu:2"}}; }),
              AllOf(HasSubstr("cuCtxCreate"), HasSubstr("device 1"), HasSubstr("prohibits"),
                    HasSubstr("nvidia-smi"), HasSubstr("CUDA_ERROR_UNKNOWN")));
  EXPECT_EQ(current(), nullptr);
  testing::clear_faults();
  runtime const rt{{.devices = "cpu:2"}};
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
