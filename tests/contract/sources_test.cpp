// A runtime whose devices' contexts come from elsewhere: primary, adopted, green. The work is the same.

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
  /// Fills memory of every device, copies it back and looks at it.
  static void works(runtime& rt) {
    for (device const& each : rt.devices()) {
      std::vector<int> sent(1000);
      std::iota(sent.begin(), sent.end(), static_cast<int>(each.ordinal.value));
      device_buffer<int> const there{rt, each, sent};
      std::vector<int> back(1000);
      rt.submit(there.copy_to(back)).wait();
      EXPECT_EQ(back, sent);
      CUctx_st* seen = nullptr;
      rt.submit([&](task_context& now) { seen = now.context(); }, {.device = each}).wait();
      EXPECT_NE(seen, nullptr);
    }
  }
};

// requirement
TEST_F(Sources, PrimaryIsTheOneTheRuntimeLibraryUses) {
  context_driver const cuda = driver();
  device const first = cuda.devices().front();
  {
    runtime_options options{.devices = device_spec(1)};
    options.settings = settings::parse("context=primary");
    runtime rt{options};
    EXPECT_TRUE(cuda.primary(first).active);
    EXPECT_THROW(cuda.reset_primary(first), context_in_use);
    works(rt);
  }
  EXPECT_FALSE(cuda.primary(first).active);
}

// requirement: never destroyed, and left as it was
TEST_F(Sources, AdoptedIsUsedAndLeft) {
  driver::table const& api = driver_in_use();
  CUcontext theirs = nullptr;
  ASSERT_EQ(api.ctx_create(&theirs, CU_CTX_SCHED_YIELD, 0), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  ASSERT_EQ(api.ctx_pop_current(&popped), CUDA_SUCCESS);
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.context = context_source::adopted(theirs);
  options.settings.all.schedule = schedule::blocking;
  {
    runtime rt{options};
    EXPECT_EQ(rt.effective_settings(device_ordinal{0}).schedule, schedule::blocking);
    works(rt);
    CUctx_st* seen = nullptr;
    rt.submit([&](task_context& now) { seen = now.context(); }).wait();
    EXPECT_EQ(seen, theirs);
  }
  EXPECT_EQ(driver().adopt(theirs).flags().schedule, schedule::yield);
  EXPECT_EQ(api.ctx_destroy(theirs), CUDA_SUCCESS) << "its owner still can";
}

// requirement: two that both believe it theirs would destroy it twice
TEST_F(Sources, AdoptsNothingOfItsOwn) {
  floating_context const holder{driver(), driver().devices().front()};
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.context = context_source::adopted(holder.ref().handle());
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{options}; }), HasSubstr("flotilla's own"));
}

// requirement: several of one GPU, each a device to the scheduler
TEST_F(Sources, GreenPartsAreDevices) {
  std::string const one = on_gpus() ? "cuda:0" : "cpu:1";
  runtime rt{{.devices = one + "/green:16*4"}};
  ASSERT_EQ(rt.devices().size(), 4u);
  for (device const& each : rt.devices()) {
    EXPECT_EQ(each.multiprocessors, 16);
    EXPECT_EQ(each.part, static_cast<int>(each.ordinal.value));
    EXPECT_EQ(rt.effective_settings(each).context, context_source::green(16));
  }
  works(rt);
  for (int i = 0; i < 100; ++i) { (void)rt.submit([](task_context&) {}); }
  rt.wait_idle();
}

// requirement: nothing is left of those that were made before one is refused
TEST_F(Sources, ThatCannotBeHadLeaveNothing) {
  std::string const one = on_gpus() ? "cuda:0" : "cpu:1";
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{{.devices = one + "/green:1000"}}; }),
              HasSubstr("1000 multiprocessors"));
  EXPECT_FALSE(driver().primary(driver().devices().front()).active);
}

}  // namespace
}  // namespace flotilla::test
