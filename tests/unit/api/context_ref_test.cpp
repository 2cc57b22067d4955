// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// context_ref: typed access to the properties and settings of a context.
#include <flotilla/context/floating_context.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "base/access.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

class ContextRef : public context_test {
 protected:
  context_driver driver_ = context_driver::cpus(2);
  device where_ = cpu(0);
  flotilla::floating_context kept_{driver_, where_};
  context_ref ref_ = kept_.ref();
};

// requirement
TEST_F(ContextRef, HasADeviceAndAnId) {
  EXPECT_EQ(ref_.driver_ordinal(), 0);
  EXPECT_EQ(ref_.api_version(), 3020u);
  flotilla::floating_context const other{driver_, cpu(1)};
  EXPECT_EQ(other.ref().driver_ordinal(), 1);
  EXPECT_NE(other.ref().id(), ref_.id());
  EXPECT_EQ(ref_.id(), ref_.id());
  EXPECT_FALSE(ref_ == other.ref());
  EXPECT_EQ(depth(), 0u);
}

// requirement: each flag can be changed after the creation of the context
TEST_F(ContextRef, ChangesFlags) {
  EXPECT_EQ(ref_.flags(), context_flags{});
  for (wait_policy const how :
       {wait_policy::spin, wait_policy::yield, wait_policy::blocking, wait_policy::automatic}) {
    ref_.set_flags({.schedule = how});
    EXPECT_EQ(ref_.flags(), context_flags{.schedule = how});
  }
  for (context_flags const flags :
       {context_flags{.lmem_resize_to_max = true}, context_flags{.coredump = true},
        context_flags{.coredump = true, .user_coredump = true},
        context_flags{.schedule = wait_policy::spin, .sync_memops = true}}) {
    ref_.set_flags(flags);
    EXPECT_EQ(ref_.flags(), flags);
  }
  EXPECT_THAT(thrown<invalid_argument>([&] { ref_.set_flags({.user_coredump = true}); }),
              HasSubstr("user_coredump"));
  EXPECT_EQ(ref_.flags(), (context_flags{.schedule = wait_policy::spin, .sync_memops = true}))
      << "a refused call must change no flag";
  ref_.set_flags({.schedule = wait_policy::yield, .map_host = true});
  EXPECT_EQ(ref_.flags(), context_flags{.schedule = wait_policy::yield})
      << "as on an H200: map_host cannot change after creation";
}

// requirement: each limit can be set and read, and `set_limit` returns the granted value
TEST_F(ContextRef, SetsLimitsAndReturnsTheGrantedValue) {
  EXPECT_EQ(ref_.limit(context_limit::stack), 1024u);
  EXPECT_EQ(ref_.set_limit(context_limit::stack, 5001), 5008u);
  EXPECT_EQ(ref_.limit(context_limit::stack), 5008u);
  EXPECT_EQ(ref_.set_limit(context_limit::printf_fifo, 1), 524288u);
  EXPECT_EQ(ref_.set_limit(context_limit::malloc_heap, 1), 4194304u);
  EXPECT_EQ(ref_.set_limit(context_limit::pending_launches, 4096), 4096u);
  EXPECT_EQ(ref_.set_limit(context_limit::l2_fetch_granularity, 32), 32u);
  EXPECT_EQ(ref_.set_limit(context_limit::persisting_l2, 1048576), 3932160u);
  EXPECT_EQ(ref_.limit(context_limit::sync_depth), std::nullopt);
  EXPECT_EQ(ref_.limit(context_limit::shared_memory), 232448u);
  EXPECT_EQ(ref_.limit(context_limit::graphics), 0u);
  EXPECT_EQ(ref_.limit(context_limit::graphics_fallback), std::nullopt);
  EXPECT_THAT(thrown<driver_error>([&] { ref_.set_limit(context_limit::sync_depth, 2); }),
              HasSubstr("CUDA_ERROR_UNSUPPORTED_LIMIT"));
  EXPECT_THAT(thrown<driver_error>([&] { ref_.set_limit(context_limit::shared_memory, 2); }),
              HasSubstr("CUDA_ERROR_NOT_PERMITTED"));
  EXPECT_THAT(thrown<driver_error>([&] { ref_.set_limit(context_limit::stack, 64u << 20); }),
              test::AllOf(HasSubstr("67108864"), HasSubstr("device 0")));
  EXPECT_EQ(depth(), 0u);
}

// requirement
TEST_F(ContextRef, HasCacheBanksAndPriorities) {
  using enum cache_preference;
  for (cache_preference const each : {shared, l1, equal, none}) {
    ref_.set_cache(each);
    EXPECT_EQ(ref_.cache(), each);
  }
  EXPECT_EQ(ref_.set_bank_size(bank_size::eight), bank_size::four)
      << "current GPUs ignore the bank size";
  EXPECT_EQ(ref_.bank_size(), bank_size::four);
  EXPECT_EQ(ref_.stream_priorities().least, 0);
  EXPECT_EQ(ref_.stream_priorities().greatest, -5);
  ref_.reset_persisting_l2();
  EXPECT_EQ(ref_.exec_affinity(), std::nullopt);
  EXPECT_FALSE(driver_.can_limit_execution(where_));
}

// requirement: `synchronize` passes the context's handle to the driver, so it makes no context
// current
TEST_F(ContextRef, IsSynchronisedByHandle) {
  foreign_contexts const theirs{1};
  testing::fail_call("cuCtxPushCurrent", 1, driver_status::unknown);
  ref_.synchronize();  // must not push the context
  testing::clear_faults();
  testing::fail_call("cuCtxSynchronize", 1, driver_status::launch_timeout);
  EXPECT_THAT(thrown<driver_error>([&] { ref_.synchronize(); }), HasSubstr("cuCtxSynchronize"));
  EXPECT_EQ(current(), theirs[0]);
}

// requirement: an older driver can synchronize only the current context. `synchronize` also works
// with such a driver.
TEST_F(ContextRef, IsSynchronisedByOlderDriversToo) {
  auto older = std::make_shared<driver::table>(*api());
  older->ctx_synchronize_v2 = nullptr;
  older->ctx_get_id = nullptr;
  context_ref const same = detail::access::make(older, ref_.handle());
  same.synchronize();
  testing::fail_call("cuCtxSynchronize", 1, driver_status::launch_timeout);
  EXPECT_THAT(thrown<driver_error>([&] { same.synchronize(); }), HasSubstr("cuCtxSynchronize"));
  EXPECT_THAT(thrown<driver_error>([&] { static_cast<void>(same.id()); }),
              test::AllOf(HasSubstr("cuCtxGetId"), HasSubstr("NOT_SUPPORTED")));
  EXPECT_EQ(depth(), 0u);
}

// requirement
TEST_F(ContextRef, GivesPeersAccess) {
  flotilla::floating_context const other{driver_, cpu(1)};
  EXPECT_TRUE(driver_.can_access_peer(cpu(0), cpu(1)));
  EXPECT_FALSE(driver_.can_access_peer(cpu(0), cpu(0)));
  ref_.enable_peer(other.ref());
  EXPECT_THAT(thrown<driver_error>([&] { ref_.enable_peer(other.ref()); }),
              HasSubstr("PEER_ACCESS_ALREADY_ENABLED"));
  ref_.disable_peer(other.ref());
  EXPECT_THAT(thrown<driver_error>([&] { ref_.disable_peer(other.ref()); }),
              HasSubstr("PEER_ACCESS_NOT_ENABLED"));
}

// requirement: attaching and detaching change the usage count, but never destroy the context
TEST_F(ContextRef, CountsAttachments) {
  {
    context_attachment const one{ref_};
    context_attachment const two{ref_};
    EXPECT_EQ(depth(), 0u);
  }
  EXPECT_EQ(ref_.driver_ordinal(), 0) << "the owner's count remains";
}

// error guess: the owner destroys a context before a library detaches from it. If a new context
// then has the same handle, the library must not detach from the new context.
TEST_F(ContextRef, ThatWasDestroyedIsNotDetached) {
  auto attached = std::make_unique<context_attachment>(ref_);
  kept_.close();
  flotilla::floating_context const next{driver_, where_};
  attached.reset();
  EXPECT_EQ(next.ref().driver_ordinal(), 0);
}

// requirement
TEST_F(ContextRef, WithAnUnknownHandleIsRefused) {
  CUcontext made = nullptr;
  ASSERT_EQ(api()->ctx_create(&made, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.adopt(made).handle(), made);
  ASSERT_EQ(api()->ctx_destroy(made), CUDA_SUCCESS);
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(driver_.adopt(made)); }),
              HasSubstr("unknown"));
  EXPECT_THROW(static_cast<void>(driver_.adopt(nullptr)), invalid_argument);
}

class Primary : public context_test {
 protected:
  context_driver driver_ = context_driver::cpus(2);
};

// requirement
TEST_F(Primary, IsRetainedAndReleasedAndKeepsItsFlags) {
  driver_.set_primary_flags(cpu(0), {.schedule = wait_policy::yield});
  EXPECT_FALSE(driver_.primary(cpu(0)).active);
  {
    device_settings asked;
    asked.context = context_source::primary();
    asked.cache = cache_preference::l1;
    flotilla::floating_context const held{driver_, cpu(0), asked};
    EXPECT_TRUE(driver_.primary(cpu(0)).active);
    EXPECT_EQ(held.effective_settings().schedule, wait_policy::yield)
        << "the flags of other code are kept";
    EXPECT_EQ(held.ref().cache(), cache_preference::l1);
    EXPECT_THAT(thrown<context_in_use>([&] { driver_.reset_primary(cpu(0)); }),
                HasSubstr("device 0"));
    EXPECT_TRUE(driver_.primary(cpu(0)).active);
  }
  EXPECT_FALSE(driver_.primary(cpu(0)).active);
  EXPECT_EQ(driver_.primary(cpu(0)).flags.schedule, wait_policy::yield)
      << "the flags apply when the context is created again";
  driver_.set_primary_flags(cpu(0), {});
}

// requirement: `map_host` is accepted for a primary context, which always maps host memory. This is
// not obvious, because the driver of an H200 refuses the flag.
TEST_F(Primary, AcceptsMapHostAlthoughItAlwaysMaps) {
  for (bool const wish : {true, false}) {
    device_settings asked;
    asked.context = context_source::primary();
    asked.map_host = wish;
    flotilla::floating_context const held{driver_, cpu(0), asked, true};
    EXPECT_EQ(held.effective_settings().map_host, true);
  }
}

// requirement: if a primary context was already active, its earlier settings are restored when the
// floating_context is closed
TEST_F(Primary, ThatWasActiveGetsItsSettingsBack) {
  CUcontext theirs = nullptr;
  ASSERT_EQ(api()->device_primary_ctx_retain(&theirs, 0), CUDA_SUCCESS);
  {
    device_settings asked;
    asked.context = context_source::primary();
    asked.schedule = wait_policy::spin;
    asked.stack_bytes = 4096;
    flotilla::floating_context const held{driver_, cpu(0), asked};
    EXPECT_EQ(held.ref().handle(), theirs);
    EXPECT_EQ(held.effective_settings().schedule, wait_policy::spin);
    EXPECT_EQ(held.effective_settings().stack_bytes, 4096u);
  }
  EXPECT_TRUE(driver_.primary(cpu(0)).active);
  context_ref const left{driver_.adopt(theirs)};
  EXPECT_EQ(left.flags().schedule, wait_policy::automatic);
  EXPECT_EQ(left.limit(context_limit::stack), 1024u);
  driver_.reset_primary(cpu(0));
  EXPECT_FALSE(driver_.primary(cpu(0)).active);
}

}  // namespace
}  // namespace flotilla::context
