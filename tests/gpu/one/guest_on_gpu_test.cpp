// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Uses flotilla together with other code in the process that calls the GPU driver.

#include <optional>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class GuestOnGpu : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(1);
    guest_test::SetUp();
  }
};

// requirement: tasks of every kind run; the test is short enough for compute-sanitizer
TEST_F(GuestOnGpu, EveryKindOfTaskRuns) {
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  test_program const program{rt};
  std::vector<std::uint32_t> host(1000, 4);
  host_buffer<std::uint32_t> pinned{rt, 1000};
  device_buffer<std::uint32_t> one{rt, device_ordinal{0}, host}, two{rt, device_ordinal{0}, 1000};
  ticket const copied = rt.submit(one.copy_to(two));
  ticket const stepped =
      rt.submit(program.step.with_shape({1}, {1})(two, 3u, 1u), {.after = {copied}});
  ticket const fetched = rt.submit(two.copy_to(pinned), {.after = {stepped}});
  int called = 0;
  rt.submit([&](task_context&) { ++called; }, {.after = {fetched}}).wait();
  EXPECT_EQ(called, 1);
  EXPECT_EQ(pinned[0], 13u);
  EXPECT_EQ(pinned[999], 4u);
  rt.submit(one.fill(9)).wait();
  rt.submit(one.copy_to(host)).wait();
  EXPECT_EQ(host[500], 9u);
}

// requirement: the application's context stays current, and the primary context is not created
TEST_F(GuestOnGpu, RuntimeLeavesTheApplicationsContextsAlone) {
  CUdevice device{};
  ASSERT_EQ(driver_in_use().device_get(&device, 0), CUDA_SUCCESS);
  CUcontext mine{};
  ASSERT_EQ(driver_in_use().ctx_create(&mine, 0, device), CUDA_SUCCESS);
  {
    runtime rt{{.devices = device_spec(1), .workers = 0}};
    test_program const program{rt};
    rt.submit(program.nothing.with_shape({1}, {1})()).wait();
    rt.submit([](task_context&) {}).wait();
    EXPECT_EQ(current_context(), mine);
  }
  EXPECT_EQ(current_context(), mine);
  if (driver_in_use().device_primary_ctx_get_state != nullptr) {
    unsigned flags = 0;
    int active = 1;
    EXPECT_EQ(driver_in_use().device_primary_ctx_get_state(device, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
  }
  EXPECT_EQ(driver_in_use().ctx_destroy(mine), CUDA_SUCCESS);
}

// error guess: the destructor of a runtime must free its GPU memory
TEST_F(GuestOnGpu, RuntimesFreeTheirMemory) {
  auto const free_bytes = [] {
    runtime rt{{.devices = device_spec(1)}};
    test_program const program{rt};
    { device_buffer<char> some{rt, device_ordinal{0}, 256u << 20}; }
    rt.wait_idle();
    return rt.memory(device_ordinal{0}).free_bytes;
  };
  (void)free_bytes();
  std::size_t const first = free_bytes();
  std::size_t last = 0;
  for (int i = 0; i < 4; ++i) { last = free_bytes(); }
  constexpr std::size_t slack_bytes = 128u << 20;  // other processes may use the GPU
  EXPECT_GT(last + slack_bytes, first);
}

}  // namespace
}  // namespace flotilla::test
