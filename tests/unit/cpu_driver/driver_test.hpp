// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixtures for the tests of the CPU driver. The fixtures check that each test frees everything.
//
// The functions of the CPU driver that is built into the library have the names of CUDA's C
// functions, but are in flotilla's namespace. Tests must qualify the names, as in cu::cuInit. The
// global functions of the same names, which <cuda.h> declares, are not defined in this program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/control.hpp"
#include "cpu_driver/base/error_names.hpp"
#include "test_cpu_driver_kernels.hpp"

#define EXPECT_STATUS(status, call) \
  EXPECT_STREQ(flotilla::cpu_driver::error_name(status), flotilla::cpu_driver::error_name(call))
#define EXPECT_OK(call) EXPECT_STATUS(CUDA_SUCCESS, call)
#define ASSERT_OK(call) ASSERT_STREQ("CUDA_SUCCESS", flotilla::cpu_driver::error_name(call))

namespace flotilla::cpu_driver {

namespace cu = flotilla::cpu_driver;

class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    control().ensure_devices(2);
    ASSERT_OK(cu::cuInit(0));
    expect_nothing_left("before the test");
  }

  void TearDown() override {
    control().clear_injection();
    expect_nothing_left("after the test");
    EXPECT_TRUE(control().reset_fault_for_tests());
  }

  static void expect_nothing_left(char const* when) {
    live_counts const left = control().live_handles();
    EXPECT_EQ(control().stack_depth(), 0u) << when;
    EXPECT_EQ(left.contexts, 0u) << when;
    EXPECT_EQ(left.streams, 0u) << when;
    EXPECT_EQ(left.events, 0u) << when;
    EXPECT_EQ(left.allocations, 0u) << when;
    EXPECT_EQ(left.modules, 0u) << when;
    EXPECT_EQ(left.libraries, 0u) << when;
  }

  /// Returns a context that is not current on any thread.
  static CUcontext floating(CUdevice device = 0, unsigned flags = 0) {
    CUcontext made = nullptr;
    EXPECT_OK(cu::cuCtxCreate_v2(&made, flags, device));
    EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
    return made;
  }

  static CUcontext current() {
    CUcontext found = nullptr;
    EXPECT_OK(cu::cuCtxGetCurrent(&found));
    return found;
  }

  static void inject(char const* spec) {
    char error[256] = "";
    EXPECT_EQ(control().inject(spec, error, sizeof error), 0) << error;
  }
};

/// Creates a context for the test, makes it current and loads this program's kernels.
class ContextTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cu::cuCtxCreate_v2(&context_, 0, 0));
    ASSERT_OK(cu::cuModuleLoadData(&module_, test_cpu_driver_kernels.cpu));
  }

  void TearDown() override {
    EXPECT_OK(cu::cuCtxDestroy(context_));
    DriverTest::TearDown();
  }

  CUfunction function(char const* name) {
    CUfunction found = nullptr;
    EXPECT_OK(cu::cuModuleGetFunction(&found, module_, name)) << name;
    return found;
  }

  template <class... Arguments>
  CUresult launch(char const* name, CUstream where, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    return cu::cuLaunchKernel(function(name), 1, 1, 1, 1, 1, 1, 0, where, addresses, nullptr);
  }

  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING, int priority = 0) {
    CUstream made = nullptr;
    EXPECT_OK(cu::cuStreamCreateWithPriority(&made, flags, priority));
    return made;
  }

  CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent made = nullptr;
    EXPECT_OK(cu::cuEventCreate(&made, flags));
    return made;
  }

  /// Returns pinned, zeroed memory that the host and the device can use. The memory is freed with
  /// the context.
  template <class T>
  T* shared(std::size_t count = 1) {
    void* made = nullptr;
    EXPECT_OK(cu::cuMemHostAlloc(&made, count * sizeof(T), 0));
    return new (made) T[count]();
  }

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

inline CUdeviceptr address_of(void const* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// Makes streams wait until the test opens the gate. So no test has to sleep.
class gate {
 public:
  gate() {
    void* made = nullptr;
    EXPECT_OK(cu::cuMemHostAlloc(&made, sizeof(std::uint32_t), 0));
    word_ = new (made) std::uint32_t{0};
  }
  ~gate() {
    open();
    EXPECT_OK(cu::cuMemFreeHost(word_));  // waits until no stream reads the word any more
  }
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;

  void hold(CUstream where) {
    EXPECT_OK(cu::cuStreamWaitValue32(where, address_of(word_), 1, CU_STREAM_WAIT_VALUE_GEQ));
  }
  void open() { std::atomic_ref(*word_).store(1, std::memory_order_release); }

 private:
  std::uint32_t* word_;
};

}  // namespace flotilla::cpu_driver
