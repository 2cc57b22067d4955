// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fault injection, and the environment variables of the CPU driver.
#include "driver_test.hpp"

#include <chrono>
#include <cstdlib>

#include "cpu_driver/base/environment.hpp"

namespace flotilla::cpu_driver {
namespace {

using InjectionTest = ContextTest;
using clock = std::chrono::steady_clock;

TEST_F(InjectionTest, TheNthCallFailsAndDoesNothing) {
  inject("fail=cuMemAlloc@2:CUDA_ERROR_OUT_OF_MEMORY");
  CUdeviceptr memory = 0;
  std::size_t const before = control().live_handles().allocations;
  EXPECT_OK(cu::cuMemAlloc(&memory, 4));
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu::cuMemAlloc(&memory, 4));
  EXPECT_OK(cu::cuMemAlloc(&memory, 4));
  EXPECT_EQ(control().live_handles().allocations, before + 2);
}

TEST_F(InjectionTest, SeveralMayBeInjectedAtOnceAndRemoved) {
  inject("fail=cuStreamCreate@1:1,fail=cuStreamCreate@2:2");
  inject("fail=cuEventCreate@1:CUDA_ERROR_NOT_SUPPORTED");
  CUstream made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuStreamCreate(&made, 0));
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu::cuStreamCreate(&made, 0));
  EXPECT_OK(cu::cuStreamCreate(&made, 0));
  control().clear_injection();
  CUevent event = nullptr;
  EXPECT_OK(cu::cuEventCreate(&event, 0));
}

TEST_F(InjectionTest, TheNthKernelOfADeviceFaults) {
  inject("fault=0@3:CUDA_ERROR_ILLEGAL_ADDRESS");
  int* const counter = shared<int>();
  for (int i = 0; i < 3; ++i) { EXPECT_OK(launch("increment", nullptr, counter)); }
  EXPECT_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cu::cuCtxSynchronize());
  EXPECT_EQ(*counter, 2);
}

TEST_F(InjectionTest, AProhibitedDeviceMakesNoContext) {
  inject("mode=1:prohibited");
  int mode = -1;
  EXPECT_OK(cu::cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 1));
  EXPECT_EQ(mode, CU_COMPUTEMODE_PROHIBITED);
  EXPECT_OK(cu::cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0));
  EXPECT_EQ(mode, CU_COMPUTEMODE_DEFAULT);
  CUcontext made = nullptr;
  CUgreenCtx green = nullptr;
  EXPECT_STATUS(CUDA_ERROR_UNKNOWN, cu::cuCtxCreate_v2(&made, 0, 1));
  EXPECT_STATUS(CUDA_ERROR_UNKNOWN, cu::cuDevicePrimaryCtxRetain(&made, 1));
  EXPECT_STATUS(CUDA_ERROR_UNKNOWN,
                cu::cuGreenCtxCreate(&green, nullptr, 1, CU_GREEN_CTX_DEFAULT_STREAM));
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(current(), context_);
  EXPECT_OK(cu::cuCtxDestroy(floating(0)));
  inject("mode=1:exclusive");
  EXPECT_OK(cu::cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 1));
  EXPECT_EQ(mode, CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
  EXPECT_OK(cu::cuCtxDestroy(floating(1)));
}

TEST_F(InjectionTest, ADeviceCanHaveNoPriorities) {
  inject("priorities=0:none");
  int supported = -1, least = 9, greatest = 9, got = 9;
  EXPECT_OK(
      cu::cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 0));
  EXPECT_EQ(supported, 0);
  EXPECT_OK(cu::cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, 0);
  CUstream const urgent = stream(CU_STREAM_NON_BLOCKING, -5);
  EXPECT_OK(cu::cuStreamGetPriority(urgent, &got));
  EXPECT_EQ(got, 0);
  EXPECT_OK(
      cu::cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1));
  EXPECT_EQ(supported, 1);
}

TEST_F(InjectionTest, CallsCanBeDelayed) {
  inject("delay=cuStreamQuery:20000");
  auto const start = clock::now();
  EXPECT_OK(cu::cuStreamQuery(nullptr));
  EXPECT_GE(clock::now() - start, std::chrono::milliseconds(20));
}

TEST_F(InjectionTest, KernelsOfASlowDeviceTakeLonger) {
  inject("slow=0:10");
  auto const start = clock::now();
  EXPECT_OK(launch("take", nullptr, 2'000'000ll));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_GE(clock::now() - start, std::chrono::milliseconds(20));
}

TEST_F(InjectionTest, WrongSpecificationsAreNamedAndChangeNothing) {
  struct {
    char const* spec;
    char const* named;
  } const cases[] = {
      {"fail=cuMemAlloc@1:CUDA_ERROR_OUT_OF_MEMORY,nonsense", "nonsense"},
      {"fail=cuNoSuchThing@1:1", "cuNoSuchThing"},
      {"fail=cuMemAlloc@0:1", "'0'"},
      {"fail=cuMemAlloc@1:CUDA_ERROR_NONE_SUCH", "CUDA_ERROR_NONE_SUCH"},
      {"fault=99@1:1", "99"},
      {"slow=0:0.5", "0.5"},
      {"slow=0:1001", "1001"},
      {"capacity=0:lots", "lots"},
      {"no_peer=0:99", "99"},
      {"no_peer=1:1", "'1:1'"},
      {"no_peer=1", "no_peer=FROM:TO"},
      {"speed=0:2", "speed"},
  };
  for (auto const& each : cases) {
    char error[256] = "";
    EXPECT_EQ(control().inject(each.spec, error, sizeof error), -1) << each.spec;
    EXPECT_NE(std::string(error).find(each.named), std::string::npos) << error;
  }
  CUdeviceptr memory = 0;
  EXPECT_OK(cu::cuMemAlloc(&memory, 4));
}

class EnvironmentTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ::unsetenv("FLOTILLA_DEVICES");
    ::unsetenv("FLOTILLA_CPU_MEMORY");
  }
  environment read_;
  std::string error_;
};

TEST_F(EnvironmentTest, SetsDevicesAndMemory) {
  ::setenv("FLOTILLA_DEVICES", "cpu:7", 1);
  ::setenv("FLOTILLA_CPU_MEMORY", "3MiB", 1);
  ASSERT_TRUE(read_environment(read_, error_)) << error_;
  EXPECT_EQ(read_.devices, 7);
  EXPECT_EQ(read_.memory_bytes, 3u << 20);
}

TEST_F(EnvironmentTest, SpecificationsOfOtherDevicesAreIgnored) {
  ::setenv("FLOTILLA_DEVICES", "cuda:0,2", 1);
  ASSERT_TRUE(read_environment(read_, error_)) << error_;
  EXPECT_GE(read_.devices, 1);
  EXPECT_LE(read_.devices, 4);
  EXPECT_EQ(read_.memory_bytes, std::size_t{4} << 30);
}

TEST_F(EnvironmentTest, WrongValuesAreNamed) {
  for (char const* const wrong : {"cpu:0", "cpu:65", "cpu:many"}) {
    ::setenv("FLOTILLA_DEVICES", wrong, 1);
    EXPECT_FALSE(read_environment(read_, error_));
    EXPECT_NE(error_.find(wrong), std::string::npos) << error_;
  }
  ::unsetenv("FLOTILLA_DEVICES");
  ::setenv("FLOTILLA_CPU_MEMORY", "plenty", 1);
  EXPECT_FALSE(read_environment(read_, error_));
  EXPECT_NE(error_.find("plenty"), std::string::npos) << error_;
}

TEST(ParseBytes, KnowsSuffixesAndOverflow) {
  EXPECT_EQ(parse_bytes("12"), 12u);
  EXPECT_EQ(parse_bytes("2KiB"), 2048u);
  EXPECT_EQ(parse_bytes("1GiB"), 1u << 30);
  for (char const* const wrong : {"", "KiB", "1MB", "-1", "1.5MiB", "99999999999GiB"}) {
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace flotilla::cpu_driver
