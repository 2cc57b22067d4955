// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Context sources: a runtime works with primary, adopted and green contexts.

#include <numeric>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class Sources : public guest_test {
 protected:
  static context_driver driver() {
    return on_gpus() ? context_driver::gpus() : context_driver::cpus();
  }
  /// For every device, copies data to the device and back, and runs a callable on the device.
  static void expect_to_work(runtime& rt) {
    for (device const& each : rt.devices()) {
      std::vector<int> sent(1000);
      std::iota(sent.begin(), sent.end(), static_cast<int>(each.ordinal.value));
      device_buffer<int> there{rt, each, sent};
      std::vector<int> back(1000);
      rt.submit(there.copy_to(back)).wait();
      EXPECT_EQ(back, sent);
      CUctx_st* seen = nullptr;
      rt.submit([&](task_context& now) { seen = now.context(); }, {.device = each}).wait();
      EXPECT_NE(seen, nullptr);
    }
  }
};

// requirement: with `context=primary` the runtime keeps the device's primary context active until
// the runtime is destroyed
TEST_F(Sources, PrimaryContextIsActiveWhileTheRuntimeLives) {
  context_driver const cuda = driver();
  device const first = cuda.devices().front();
  {
    runtime_options options{.devices = device_spec(1)};
    options.settings = settings::parse("context=primary");
    runtime rt{options};
    EXPECT_TRUE(cuda.primary(first).active);
    EXPECT_THROW(cuda.reset_primary(first), context_in_use);
    expect_to_work(rt);
  }
  EXPECT_FALSE(cuda.primary(first).active);
}

// requirement: a runtime uses an adopted context. The runtime's destructor restores the settings of
// the context and does not destroy the context
TEST_F(Sources, AdoptedContextIsUsedAndNotDestroyed) {
  driver::table const& api = driver_in_use();
  CUcontext adopted = nullptr;
  ASSERT_EQ(api.ctx_create(&adopted, CU_CTX_SCHED_YIELD, 0), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  ASSERT_EQ(api.ctx_pop_current(&popped), CUDA_SUCCESS);
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.context = context_source::adopted(adopted);
  options.settings.all.schedule = wait_policy::blocking;
  {
    runtime rt{options};
    EXPECT_EQ(rt.effective_settings(device_ordinal{0}).schedule, wait_policy::blocking);
    expect_to_work(rt);
    CUctx_st* seen = nullptr;
    rt.submit([&](task_context& now) { seen = now.context(); }).wait();
    EXPECT_EQ(seen, adopted);
  }
  EXPECT_EQ(driver().adopt(adopted).flags().schedule, wait_policy::yield);
  EXPECT_EQ(api.ctx_destroy(adopted), CUDA_SUCCESS) << "only the application destroys the context";
}

// requirement: a runtime refuses to adopt a context that flotilla owns. Otherwise both owners would
// destroy the context
TEST_F(Sources, ContextOfFlotillaCannotBeAdopted) {
  floating_context const holder{driver(), driver().devices().front()};
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.context = context_source::adopted(holder.ref().handle());
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{options}; }),
              HasSubstr("belongs to flotilla"));
}

// requirement: each green part of a device is a separate device of the runtime
TEST_F(Sources, GreenPartsOfADeviceAreDevices) {
  std::string const one = on_gpus() ? "cuda:0" : "cpu:1";
  runtime rt{{.devices = one + "/green:16*4"}};
  ASSERT_EQ(rt.devices().size(), 4u);
  for (device const& each : rt.devices()) {
    EXPECT_EQ(each.multiprocessors, 16);
    EXPECT_EQ(each.part, static_cast<int>(each.ordinal.value));
    EXPECT_EQ(rt.effective_settings(each).context, context_source::green(16));
  }
  expect_to_work(rt);
  for (int i = 0; i < 100; ++i) {
    (void)rt.submit([](task_context&) {});
  }
  rt.wait_idle();
}

// requirement: if a context source is refused, the runtime leaves no context behind
TEST_F(Sources, RefusedSourceLeavesNoContext) {
  std::string const one = on_gpus() ? "cuda:0" : "cpu:1";
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{{.devices = one + "/green:1000"}}; }),
              HasSubstr("1000 multiprocessors"));
  EXPECT_FALSE(driver().primary(driver().devices().front()).active);
}

}  // namespace
}  // namespace flotilla::test
