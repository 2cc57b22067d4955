// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixtures without a runtime: a lane of a CPU device, and test kernels. The device's context is
// current.

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "context/lease.hpp"
#include "dispatch/lane/lane.hpp"
#include "support/eventually.hpp"
#include "support/kernels.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::dispatch {

class lane_test : public context::context_test {
 protected:
  explicit lane_test(std::shared_ptr<driver::table const> with = api())
      : context_{std::move(with), cpu(), {}} {
    EXPECT_EQ(lane_.open(0), CUDA_SUCCESS);
  }
  ~lane_test() override {
    settle();
    waits_.destroy();
    lane_.destroy();
    page_.unregister();
  }
  /// Waits until the device has finished all writes to the page.
  static void settle() { EXPECT_EQ(api()->ctx_synchronize(), CUDA_SUCCESS); }
  [[nodiscard]] bool reaches(std::uint64_t number) {
    return test::eventually([&] { return page_.number(1) >= number; });
  }

  context::context_handle context_;
  context::lease_gate gate_{context_};
  context::lease held_{gate_.take()};
  context::current_scope scope_{held_};
  completion_page page_{context_, 3};
  wait_events waits_{context_};
  lane lane_{context_, page_, waits_, 1};
};

/// A fixture that also loads the test kernels.
class template_test : public lane_test {
 protected:
  explicit template_test(std::shared_ptr<driver::table const> with = api())
      : lane_test{std::move(with)} {
    EXPECT_EQ(api()->module_load_data(&module_, test::test_image().cpu), CUDA_SUCCESS);
  }
  ~template_test() override { EXPECT_EQ(api()->module_unload(module_), CUDA_SUCCESS); }
  CUfunction function(char const* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(api()->module_get_function(&found, module_, name), CUDA_SUCCESS) << name;
    return found;
  }
  /// Returns node parameters for one block of one thread.
  static CUDA_KERNEL_NODE_PARAMS node_of(CUfunction what, void** arguments) {
    CUDA_KERNEL_NODE_PARAMS made{};
    made.func = what;
    made.gridDimX = made.gridDimY = made.gridDimZ = 1;
    made.blockDimX = made.blockDimY = made.blockDimZ = 1;
    made.kernelParams = arguments;
    return made;
  }

 private:
  CUmodule module_ = nullptr;
};

}  // namespace flotilla::dispatch
