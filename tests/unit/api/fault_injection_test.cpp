// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fault injection through C++ functions. Each function either changes the behavior of the CPU
// driver, or refuses an argument and names that argument.

#include <flotilla/testing/fault_injection.hpp>

#include <chrono>
#include <limits>

#include <flotilla/error/error.hpp>

#include "unit/context/context_test.hpp"

namespace flotilla::testing {
namespace {

using namespace std::chrono_literals;
using test::AllOf;
using test::HasSubstr;
using test::thrown;

class FaultInjection : public context::context_test {
 protected:
  static CUresult ask_name() {
    char name[64] = "";
    return api()->device_get_name(name, sizeof name, 0);
  }
  static CUresult ask_memory() {
    std::size_t bytes = 0;
    return api()->device_total_mem(&bytes, 0);
  }
  template <class Function>
  static std::string refusal(Function&& function) {
    return thrown<invalid_argument>(std::forward<Function>(function));
  }
};

// requirement
TEST_F(FaultInjection, FailsTheNthCallAlone) {
  fail_call("cuDeviceGetName", 2, driver_status::not_permitted);
  EXPECT_EQ(ask_name(), CUDA_SUCCESS);
  EXPECT_EQ(ask_memory(), CUDA_SUCCESS) << "other entry points are not counted";
  EXPECT_EQ(ask_name(), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(ask_name(), CUDA_SUCCESS);
}

// requirement
TEST_F(FaultInjection, AccumulatesFailures) {
  fail_call("cuDeviceGetName", 1, driver_status::not_permitted);
  fail_call("cuDeviceGetName", 2, driver_status::timeout);
  EXPECT_EQ(ask_name(), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(ask_name(), CUDA_ERROR_TIMEOUT);
}

// requirement
TEST_F(FaultInjection, DelaysEveryCall) {
  delay_calls("cuDeviceGetName", 5ms);
  for (int i = 0; i < 2; ++i) {
    auto const before = std::chrono::steady_clock::now();
    EXPECT_EQ(ask_name(), CUDA_SUCCESS);
    EXPECT_GE(std::chrono::steady_clock::now() - before, 5ms);
  }
}

// requirement
TEST_F(FaultInjection, LimitsMemory) {
  context::context_handle const context{api(), cpu(), {}};
  ASSERT_EQ(api()->ctx_push_current(context.handle()), CUDA_SUCCESS);
  limit_memory(cpu_device{0}, 1 << 20);
  CUdeviceptr memory = 0;
  EXPECT_EQ(api()->mem_alloc(&memory, 2 << 20), CUDA_ERROR_OUT_OF_MEMORY);
  clear_faults();
  EXPECT_EQ(api()->mem_alloc(&memory, 2 << 20), CUDA_SUCCESS);
  EXPECT_EQ(api()->mem_free(memory), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  EXPECT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
}

// requirement
TEST_F(FaultInjection, SeparatesPeersInOneDirection) {
  auto const can = [&](int from, int to) {
    int answer = 9;
    EXPECT_EQ(api()->device_can_access_peer(&answer, from, to), CUDA_SUCCESS);
    return answer;
  };
  separate_peers(cpu_device{0}, cpu_device{1});
  EXPECT_EQ(can(0, 1), 0);
  EXPECT_EQ(can(1, 0), 1);
  clear_faults();
  EXPECT_EQ(can(0, 1), 1);
}

// requirement
TEST_F(FaultInjection, IsTakenBackByClearFaults) {
  fail_call("cuDeviceGetName", 1, driver_status::not_permitted);
  clear_faults();
  EXPECT_EQ(ask_name(), CUDA_SUCCESS);
}

// requirement: the error text names the function, the argument and the value
TEST_F(FaultInjection, NamesTheArgumentThatItRefuses) {
  auto const failed = driver_status::out_of_memory;
  EXPECT_THAT(refusal([&] { fail_call("cuNoSuchEntry", 1, failed); }),
              AllOf(HasSubstr("fail_call: entry 'cuNoSuchEntry'"), HasSubstr("CPU driver")));
  EXPECT_THAT(refusal([&] { fail_call("cuMemAlloc@1:2,fail=cuMemAlloc", 1, failed); }),
              HasSubstr("entry is 'cuMemAlloc@1:2,fail=cuMemAlloc'"));
  EXPECT_THAT(refusal([&] { fail_call("", 1, failed); }), HasSubstr("entry is ''"));
  EXPECT_THAT(refusal([&] { fail_call("cuMemAlloc", 0, failed); }), HasSubstr("nth is 0"));
  EXPECT_THAT(refusal([] { fail_call("cuMemAlloc", 1, driver_status::success); }),
              HasSubstr("status is CUDA_SUCCESS"));
  EXPECT_THAT(refusal([] { fail_call("cuMemAlloc", 1, driver_status{54321}); }),
              HasSubstr("status is CUDA_ERROR_(54321)"));
  EXPECT_THAT(refusal([] { delay_calls("cuNoSuchEntry", 1us); }),
              HasSubstr("delay_calls: entry 'cuNoSuchEntry'"));
  EXPECT_THAT(refusal([] { delay_calls("cuMemAlloc", -1us); }), HasSubstr("delay is -1 us"));
  EXPECT_THAT(refusal([] { delay_calls("cuMemAlloc", 2h); }), HasSubstr("delay is 7200000000 us"));
  EXPECT_THAT(refusal([] { slow_kernels(cpu_device{-1}, 2); }),
              HasSubstr("slow_kernels: device is -1"));
  EXPECT_THAT(refusal([] { slow_kernels(cpu_device{100000}, 2); }), HasSubstr("device 100000"));
  EXPECT_THAT(refusal([] { slow_kernels(cpu_device{0}, 0.5); }), HasSubstr("factor is 0.5"));
  EXPECT_THAT(refusal([] { slow_kernels(cpu_device{0}, 1e300); }), HasSubstr("factor is 1e+300"));
  EXPECT_THAT(refusal([] { slow_kernels(cpu_device{0}, 1001); }), HasSubstr("between 1 and 1000"));
  EXPECT_THAT(
      refusal([] { slow_kernels(cpu_device{0}, std::numeric_limits<double>::quiet_NaN()); }),
      HasSubstr("factor is nan"));
  EXPECT_THAT(refusal([] { reverse_blocks(cpu_device{-1}); }),
              HasSubstr("reverse_blocks: device is -1"));
  EXPECT_THAT(refusal([] { reverse_blocks(cpu_device{100000}); }), HasSubstr("device 100000"));
  EXPECT_THAT(refusal([&] { fault_kernel(cpu_device{0}, 0, failed); }), HasSubstr("nth is 0"));
  EXPECT_THAT(refusal([] { limit_memory(cpu_device{100000}, 1); }), HasSubstr("device 100000"));
  EXPECT_THAT(refusal([] { separate_peers(cpu_device{1}, cpu_device{1}); }),
              HasSubstr("both device 1"));
  EXPECT_THAT(refusal([] { separate_peers(cpu_device{-1}, cpu_device{1}); }),
              HasSubstr("separate_peers: device is -1"));
  EXPECT_THAT(refusal([] { separate_peers(cpu_device{0}, cpu_device{100000}); }),
              HasSubstr("devices 0 and 100000"));
  EXPECT_EQ(ask_name(), CUDA_SUCCESS) << "nothing was injected";
}

// requirement
TEST_F(FaultInjection, TakesDevicesOfTheCpuDriverOnly) {
  EXPECT_EQ(cpu_device{cpu(1)}.driver_ordinal, 1);
  device gpu = cpu(0);
  gpu.kind = device_kind::gpu;
  gpu.name = "NVIDIA H200";
  EXPECT_THAT(refusal([&] { slow_kernels(gpu, 2); }), HasSubstr("NVIDIA H200"));
}

}  // namespace
}  // namespace flotilla::testing
