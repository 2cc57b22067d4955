// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flotilla::floating_context: a context that belongs to no runtime and is current only inside
// scopes.
#include <flotilla/context/floating_context.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <cstdlib>
#include <thread>

#include "base/access.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

class KeptContext : public context_test {
 protected:
  context_driver driver_ = context_driver::cpus(2);
  flotilla::floating_context make(char const* text = "") const {
    return flotilla::floating_context{driver_, cpu(), settings::parse(text).all};
  }
};

[[noreturn]] void end_with_a_scope_in_a_static_object() {
  static flotilla::floating_context const own{context_driver::cpus(1),
                                              context_driver::cpus(1).devices()[0]};
  static context_scope const scope{own};
  std::exit(7);
}

// error guess: a scope in a static object ends after the thread-local objects of the main thread
TEST(LateScope, MayEndWithTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_with_a_scope_in_a_static_object(), ::testing::ExitedWithCode(7), "");
}

// requirement
TEST_F(KeptContext, IsCurrentOnlyInsideAScope) {
  foreign_contexts const theirs{1};
  flotilla::floating_context const mine = make("schedule=blocking");
  EXPECT_EQ(current(), theirs[0]);
  {
    context_scope const scope{mine};
    EXPECT_EQ(current(), mine.ref().handle());
    {
      context_scope const again{mine};
      EXPECT_EQ(depth(), 3u);
    }
    EXPECT_EQ(driver_.current(), mine.ref());
  }
  EXPECT_EQ(current(), theirs[0]);
  EXPECT_EQ(mine.effective_settings().schedule, wait_policy::blocking);
  EXPECT_EQ(mine.report_settings().outcomes.size(), device_settings::names().size());
}

// requirement: any thread can make a floating context current
TEST_F(KeptContext, IsEnteredByAnyThread) {
  flotilla::floating_context const mine = make();
  std::thread{[&] {
    context_scope const scope{mine};
    EXPECT_EQ(current(), mine.ref().handle());
  }}.join();
  EXPECT_EQ(depth(), 0u);
}

// requirement: a context is not destroyed while a scope uses it
TEST_F(KeptContext, LivesAsLongAsAScopeOfIt) {
  std::optional<flotilla::floating_context> mine{make()};
  CUcontext const handle = mine->ref().handle();
  {
    context_scope const scope{*mine};
    EXPECT_THAT(thrown<context_in_use>([&] { mine->close(); }), HasSubstr("device 0"));
    EXPECT_TRUE(mine->is_open());
    mine.reset();
    EXPECT_EQ(current(), handle);
    unsigned version = 0;
    EXPECT_EQ(api()->ctx_get_api_version(handle, &version), CUDA_SUCCESS);
    EXPECT_EQ(driver::cpu_control().live_handles().contexts, 1u);
  }
  EXPECT_EQ(driver::cpu_control().live_handles().contexts, 0u);
}

// requirement
TEST_F(KeptContext, IsClosedOnce) {
  flotilla::floating_context mine = make();
  flotilla::floating_context moved = std::move(mine);
  EXPECT_FALSE(mine.is_open());
  moved.close();
  EXPECT_FALSE(moved.is_open());
  EXPECT_EQ(driver::cpu_control().live_handles().contexts, 0u);
  moved.close();
}

// requirement: a context cannot be closed while it is on a thread's stack, whether a scope or a
// push has put it there
TEST_F(KeptContext, IsNotClosedWhileAThreadHasItOnItsStack) {
  flotilla::floating_context mine = make();
  driver_.push(mine.ref());
  EXPECT_EQ(current(), mine.ref().handle());
  EXPECT_THAT(thrown<context_in_use>([&] { mine.close(); }), HasSubstr("current on a thread"));
  EXPECT_EQ(driver_.pop(), mine.ref());
  EXPECT_EQ(driver_.pop(), std::nullopt);
  mine.close();
}

// requirement: while a scope is open, its context cannot be popped or replaced
TEST_F(KeptContext, KeepsItsPlaceOnTheStack) {
  flotilla::floating_context const mine = make();
  flotilla::floating_context const other = make();
  driver_.push(other.ref());
  {
    context_scope const scope{mine};
    EXPECT_THROW(static_cast<void>(driver_.pop()), context_in_use);
    EXPECT_THROW(driver_.set_current(other.ref()), context_in_use);
    EXPECT_THROW(driver_.set_current(std::nullopt), context_in_use);
    EXPECT_EQ(current(), mine.ref().handle());
    driver_.push(other.ref());
    EXPECT_EQ(driver_.pop(), other.ref());
  }
  driver_.set_current(mine.ref());
  EXPECT_EQ(current(), mine.ref().handle());
  EXPECT_EQ(depth(), 1u);
  driver_.set_current(std::nullopt);
  EXPECT_EQ(depth(), 0u);
}

// requirement: when a scope ends, it also pops the contexts above its own context
TEST_F(KeptContext, PopsContextsLeftAboveIt) {
  foreign_contexts const theirs{1};
  flotilla::floating_context const mine = make();
  CUcontext left = nullptr;
  ::testing::internal::CaptureStderr();
  {
    context_scope const scope{mine};
    ASSERT_EQ(api()->ctx_create(&left, 0, 0), CUDA_SUCCESS);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("above"));
  EXPECT_EQ(current(), theirs[0]);
  ASSERT_EQ(api()->ctx_destroy(left), CUDA_SUCCESS);
}

// error guess: user code pops the context of a scope. When the scope ends, it must not pop a
// context of the application instead.
TEST_F(KeptContext, LeavesTheStackAloneIfItIsGone) {
  foreign_contexts const theirs{2};
  flotilla::floating_context const mine = make();
  ::testing::internal::CaptureStderr();
  {
    context_scope const scope{mine};
    CUcontext popped = nullptr;
    ASSERT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("popped already"));
  EXPECT_EQ(depth(), 2u);
  EXPECT_EQ(current(), theirs[1]);
}

// requirement: the settings of a floating context are checked like those of a runtime. If a setting
// is refused, no context is leaked.
TEST_F(KeptContext, ThatIsRefusedLeaksNothing) {
  EXPECT_THAT(thrown<driver_error>([&] { static_cast<void>(make("limits.stack=1GiB")); }),
              HasSubstr("limits.stack"));
  EXPECT_THAT(thrown<invalid_argument>([&] {
                flotilla::floating_context const none{
                    driver_, cpu(), {.context = context_source::primary(), .exec_affinity = 2}};
              }),
              HasSubstr("exec_affinity"));
  EXPECT_EQ(driver::cpu_control().live_handles().contexts, 0u);
  flotilla::floating_context const some{driver_, cpu(), settings::parse("limits.stack=1GiB").all,
                                        true};
  EXPECT_EQ(some.effective_settings().stack_bytes, 1024u);
}

// requirement
TEST_F(KeptContext, HasHostMemoryThatKernelsAccess) {
  flotilla::floating_context mine = make();
  {
    mapped_memory memory{mine, 4096};
    EXPECT_EQ(memory.host().size(), 4096u);
    EXPECT_NE(memory.device_address(), 0u);
    memory.host()[4095] = std::byte{7};
    EXPECT_THROW(mine.close(), context_in_use) << "mapped memory still uses the context";
    mapped_memory const moved{std::move(memory)};
    EXPECT_EQ(moved.host()[4095], std::byte{7});
  }
  EXPECT_EQ(depth(), 0u);
  mine.close();
}

/// A floating context of the application.
class their_context {
 public:
  explicit their_context(driver::table const& api, int device = 0) : api_{api} {
    EXPECT_EQ(api_.ctx_create(&handle, CU_CTX_SCHED_YIELD, device), CUDA_SUCCESS);
    CUcontext popped = nullptr;
    EXPECT_EQ(api_.ctx_pop_current(&popped), CUDA_SUCCESS);
  }
  ~their_context() {
    EXPECT_EQ(api_.ctx_destroy(handle), CUDA_SUCCESS)
        << "other code destroyed the application's context";
  }
  CUcontext handle = nullptr;

 private:
  driver::table const& api_;
};

class Adopted : public KeptContext {};

// requirement: flotilla never destroys an adopted context, and restores the context's earlier
// settings
TEST_F(Adopted, IsUsedAndRestored) {
  their_context const theirs{*api()};
  context_ref const seen = driver_.adopt(theirs.handle);
  seen.set_limit(context_limit::stack, 2048);
  {
    flotilla::floating_context const mine{driver_,
                                          cpu(),
                                          {.context = context_source::adopted(theirs.handle),
                                           .schedule = wait_policy::spin,
                                           .cache = cache_preference::equal,
                                           .stack_bytes = 8192}};
    EXPECT_EQ(mine.ref().handle(), theirs.handle);
    EXPECT_EQ(seen.flags().schedule, wait_policy::spin);
    EXPECT_EQ(seen.limit(context_limit::stack), 8192u);
    EXPECT_EQ(mine.effective_settings().context, context_source::adopted(theirs.handle));
  }
  EXPECT_EQ(seen.flags().schedule, wait_policy::yield);
  EXPECT_EQ(seen.limit(context_limit::stack), 2048u);
  EXPECT_EQ(seen.cache(), cache_preference::none);
}

// requirement
TEST_F(Adopted, IsRefusedIfItCannotBeUsed) {
  auto const refused = [&](CUcontext handle, device const& where) {
    return thrown<invalid_argument>([&] {
      flotilla::floating_context const none{
          driver_, where, {.context = context_source::adopted(handle)}};
    });
  };
  EXPECT_THAT(refused(nullptr, cpu()), test::AllOf(HasSubstr("device 0"), HasSubstr("null")));
  CUcontext gone = nullptr;
  {
    their_context const theirs{*api(), 1};
    gone = theirs.handle;
    EXPECT_THAT(refused(gone, cpu(0)), HasSubstr("number 1 of the driver"));
  }
  EXPECT_THAT(refused(gone, cpu(1)), HasSubstr("unknown to the driver"));
  flotilla::floating_context const mine = make();
  EXPECT_THAT(refused(mine.ref().handle(), cpu()), HasSubstr("belongs to flotilla"));
  EXPECT_EQ(depth(), 0u);
}

// requirement: if one setting of an adopted context is refused, no setting changes
TEST_F(Adopted, IsUnchangedIfASettingIsRefused) {
  their_context const theirs{*api()};
  EXPECT_THROW((flotilla::floating_context{driver_,
                                           cpu(),
                                           {.context = context_source::adopted(theirs.handle),
                                            .schedule = wait_policy::spin,
                                            .stack_bytes = 1024,
                                            .sync_depth = 2}}),
               driver_error);
  EXPECT_EQ(driver_.adopt(theirs.handle).flags().schedule, wait_policy::yield);
  EXPECT_EQ(depth(), 0u);
}

/// A replacement for a driver entry. It reports the compute mode `Mode` for every device.
template <int Mode>
CUresult compute_mode(int* value, CUdevice_attribute which, CUdevice device) {
  if (which != CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) {
    return driver::cpu_driver().api->device_get_attribute(value, which, device);
  }
  *value = Mode;
  return CUDA_SUCCESS;
}

// requirement
TEST_F(KeptContext, OfAProhibitedOrExclusiveDeviceIsRefusedWithTheReason) {
  auto other = std::make_shared<driver::table>(*api());
  auto const refused = [&] {
    testing::fail_call("cuCtxCreate", 1, driver_status::device_unavailable);
    return thrown<driver_error>([&] {
      flotilla::floating_context const none{detail::access::make(other), cpu()};
    });
  };
  other->device_get_attribute = compute_mode<CU_COMPUTEMODE_PROHIBITED>;
  EXPECT_THAT(refused(), test::AllOf(HasSubstr("prohibits"), HasSubstr("nvidia-smi -c DEFAULT")));
  other->device_get_attribute = compute_mode<CU_COMPUTEMODE_EXCLUSIVE_PROCESS>;
  EXPECT_THAT(refused(), test::AllOf(HasSubstr("exclusive"), HasSubstr("another process")));
}

}  // namespace
}  // namespace flotilla::context
