// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/context_handle.hpp"

#include <flotilla/error/error.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <thread>

#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

class FloatingContext : public context_test {
 protected:
  static device_settings asked(std::string const& text) { return settings::parse(text).of(0); }
};

// requirement
TEST_F(FloatingContext, IsCurrentNowhere) {
  context_handle const made{api(), cpu(), {}};
  EXPECT_NE(made.handle(), nullptr);
  EXPECT_EQ(depth(), 0u);
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(live_contexts(), 1u);
}

// requirement
TEST_F(FloatingContext, LeavesTheCallersStackAsItWas) {
  foreign_contexts const theirs{2};
  {
    context_handle const made{api(), cpu(), asked("limits.stack=4096")};
    EXPECT_EQ(depth(), 2u);
    EXPECT_EQ(current(), theirs[1]);
  }
  EXPECT_EQ(depth(), 2u);
  EXPECT_EQ(current(), theirs[1]);
}

// requirement
TEST_F(FloatingContext, BelongsToTheDeviceItWasMadeFor) {
  context_handle const made{api(), cpu(1), {}};
  ASSERT_EQ(api()->ctx_push_current(made.handle()), CUDA_SUCCESS);
  CUdevice where = -1;
  EXPECT_EQ(api()->ctx_get_device(&where), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  EXPECT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
  EXPECT_EQ(where, 1);
  EXPECT_THAT(made.subject(), HasSubstr("device 1 ("));
}

// requirement: `effective` returns every scheduling flag and cache preference that was set
TEST_F(FloatingContext, HasTheRequestedFlagsAndPreference) {
  for (wait_policy const how :
       {wait_policy::automatic, wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    context_handle const made{api(), cpu(), asked("schedule=" + to_string(how))};
    EXPECT_EQ(made.effective().schedule, how);
  }
  using enum cache_preference;
  for (cache_preference const what : {none, shared, l1, equal}) {
    context_handle const made{api(), cpu(), asked("cache=" + to_string(what))};
    EXPECT_EQ(made.effective().cache, what);
  }
}

// requirement: `effective` returns the granted limit, not the requested one
TEST_F(FloatingContext, ReportsTheGrantedLimits) {
  context_handle const made{api(), cpu(), asked("limits.stack=5001,limits.malloc_heap=100MiB")};
  EXPECT_EQ(made.effective().stack_bytes, 5008u) << "stack sizes are rounded up to 16";
  EXPECT_EQ(made.effective().malloc_heap_bytes, 100u << 20);
}

// requirement
TEST_F(FloatingContext, WithoutSettingsReportsTheDriversDefaults) {
  context_handle const made{api(), cpu(), {}};
  EXPECT_EQ(made.effective().schedule, wait_policy::automatic);
  EXPECT_EQ(made.effective().cache, cache_preference::none);
  EXPECT_EQ(made.effective().stack_bytes, 1024u);
  EXPECT_EQ(made.effective().malloc_heap_bytes, 8u << 20);
}

// requirement
TEST_F(FloatingContext, ThatIsRefusedNamesTheSettingAndLeaksNothing) {
  foreign_contexts const theirs{1};
  std::string const said = thrown<driver_error>([] {
    context_handle const made{api(), cpu(), asked("limits.stack=1GiB")};
  });
  EXPECT_THAT(said, test::AllOf(HasSubstr("cuCtxSetLimit"), HasSubstr("limits.stack = 1073741824"),
                                HasSubstr("device 0")));
  EXPECT_EQ(depth(), 1u);
  EXPECT_EQ(current(), theirs[0]);
  EXPECT_EQ(driver::cpu_control().live_handles().contexts, 1u);
}

// requirement: if any driver call fails during the creation of a context, nothing is leaked
TEST_F(FloatingContext, ThatCannotBeMadeLeaksNothing) {
  foreign_contexts const theirs{1};
  for (char const* const call :
       {"cuDeviceGet", "cuCtxCreate", "cuCtxSetLimit", "cuCtxSetCacheConfig", "cuCtxGetFlags",
        "cuCtxGetCacheConfig", "cuCtxGetLimit"}) {
    device const where = cpu();
    testing::fail_call(call, 1, driver_status::out_of_memory);
    try {
      context_handle const made{api(), where, asked("cache=l1,limits.stack=4096")};
      ADD_FAILURE() << call << " failed, and nothing was thrown";
    } catch (driver_error const& error) {
      EXPECT_EQ(error.status(), driver_status::out_of_memory);
      EXPECT_EQ(error.call(), call);
    }
    testing::clear_faults();
    EXPECT_EQ(depth(), 1u) << call;
    EXPECT_EQ(current(), theirs[0]) << call;
    EXPECT_EQ(driver::cpu_control().live_handles().contexts, 1u) << call;
    EXPECT_EQ(live_contexts(), 0u) << call;
  }
}

// requirement: any thread can make the context current
TEST_F(FloatingContext, IsPushedByAnyThread) {
  context_handle const made{api(), cpu(), {}};
  std::thread{[&] {
    EXPECT_EQ(api()->ctx_push_current(made.handle()), CUDA_SUCCESS);
    EXPECT_EQ(current(), made.handle());
    CUcontext popped = nullptr;
    EXPECT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
  }}.join();
}

// error guess: the application calls `destroy` twice. The second call must do nothing, because a
// second cuCtxDestroy would corrupt the driver's heap.
TEST_F(FloatingContext, IsDestroyedOnce) {
  context_handle made{api(), cpu(), {}};
  made.destroy();
  EXPECT_EQ(live_contexts(), 0u);
  EXPECT_EQ(driver::cpu_control().live_handles().contexts, 0u);
  made.destroy();
  EXPECT_EQ(live_contexts(), 0u);
}

}  // namespace
}  // namespace flotilla::context
