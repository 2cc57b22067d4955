// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The forwarding driver with one isolated device, and a kernel or two.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include <flotilla/kernel/image.hpp>

#include "driver/cpu_devices.hpp"
#include "driver/device_recovery.hpp"
#include "driver/library.hpp"
#include "isolation/forwarding.hpp"
#include "support/devices.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {

#define FLOTILLA_OK(call) ASSERT_EQ((call), CUDA_SUCCESS)

class isolated_fixture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (on_gpus()) { FLOTILLA_NEED_GPUS(1); }
    auto const base = on_gpus() ? driver::gpu_driver().api : driver::cpu_driver().api;
    ASSERT_NE(base, nullptr);
    if (!on_gpus()) { driver::ensure_cpu_devices(2); }
    isolated::isolated_choice const device{0, wants_spare()};
    api_ = isolated::isolate(base, {&device, 1}, "").forwarding;
    // An earlier test may have left the device lost.
    if (api_->recovery->is_lost(0)) { ASSERT_TRUE(api_->recovery->replace(0)); }
    FLOTILLA_OK(api_->ctx_create(&context_, 0, 0));
  }
  void TearDown() override {
    if (api_ == nullptr) { return; }  // skipped
    if (api_->recovery->is_lost(0)) { EXPECT_TRUE(api_->recovery->replace(0)); }
    if (library_ != nullptr) { EXPECT_EQ(api_->library_unload(library_), CUDA_SUCCESS); }
    EXPECT_EQ(api_->ctx_destroy(context_), CUDA_SUCCESS);
  }
  [[nodiscard]] virtual bool wants_spare() const { return false; }

  driver::table const& api() { return *api_; }
  driver::device_recovery& recovery() { return *api_->recovery; }

  /// Loads the test kernels, and gets one of them.
  CUfunction function(char const* name) {
    if (library_ == nullptr) {
      image const& code = test_image();
      void const* const bytes = on_gpus() ? code.gpu : code.cpu;
      EXPECT_EQ(api_->library_load_data(&library_, bytes, nullptr, nullptr, 0, nullptr, nullptr, 0),
                CUDA_SUCCESS);
    }
    CUkernel kernel = nullptr;
    EXPECT_EQ(api_->library_get_kernel(&kernel, library_, name), CUDA_SUCCESS);
    CUfunction found = nullptr;
    EXPECT_EQ(api_->kernel_get_function(&found, kernel), CUDA_SUCCESS);
    return found;
  }
  CUresult add(CUfunction add_to, CUdeviceptr where, std::uint32_t amount, CUstream stream) {
    void* arguments[] = {&where, &amount};
    return api_->launch_kernel(add_to, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  }
  std::uint32_t word(CUdeviceptr where) {
    std::uint32_t value = 0;
    EXPECT_EQ(api_->memcpy_dtoh(&value, where, sizeof value), CUDA_SUCCESS);
    return value;
  }

  std::shared_ptr<driver::table const> api_;
  CUcontext context_ = nullptr;
  CUlibrary library_ = nullptr;
};

}  // namespace flotilla::test
