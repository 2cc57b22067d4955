// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The sources of a device's context: primary and adopted contexts. The tests check what a runtime
// does to these contexts.
#include "contexts_test.hpp"

#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class ContextSources : public contexts_test {
 protected:
  static runtime_options with(context_source source) {
    runtime_options options{.devices = device_spec(1), .workers = 1};
    options.settings.all.context = source;
    return options;
  }
  static CUcontext context_of(runtime& rt) {
    CUcontext seen = nullptr;
    rt.submit([&](task_context& context) {
        seen = context.context();
        EXPECT_EQ(current(), seen);
      }).wait();
    return seen;
  }
  static int primary_active() {
    unsigned flags = 0;
    int active = -1;
    CUdevice device{};
    EXPECT_OK(cu().device_get(&device, 0));
    EXPECT_OK(cu().device_primary_ctx_get_state(device, &flags, &active));
    return active;
  }
  /// Writes `value` to device memory in a task of `rt` and copies the word to the host.
  /// @return the word on the host.
  static int written_by(runtime& rt, int value) {
    test_program const kernels{rt};
    device_buffer<std::uint32_t> word{rt, device_ordinal{0}, 1};
    ticket const written =
        rt.submit(kernels.write.with_shape({1}, {1})(word, static_cast<std::uint32_t>(value)));
    std::uint32_t seen = 0;
    rt.submit(word.copy_to(std::span{&seen, 1}), {.after = {written}}).wait();
    return static_cast<int>(seen);
  }
};

// S2.1 S2.4: a runtime with the source `primary` retains the primary context, and the runtime's
// destructor releases the context. Meanwhile the application can retain and release the context,
// too
TEST_F(ContextSources, ThePrimaryIsRetainedAndReleased) {
  EXPECT_EQ(primary_active(), 0);
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  {
    runtime rt{with(context_source::primary())};
    CUcontext retained = nullptr;
    EXPECT_OK(cu().device_primary_ctx_retain(&retained, device));
    EXPECT_EQ(context_of(rt), retained);
    EXPECT_EQ(written_by(rt, 5), 5);
    EXPECT_OK(cu().device_primary_ctx_release(device));
    EXPECT_EQ(primary_active(), 1) << "the runtime must still hold its own reference";
  }
  EXPECT_EQ(primary_active(), 0);
}

// S2.4: if the application has retained the primary context, the context and its memory remain
// after the runtime is destroyed
TEST_F(ContextSources, ThePrimaryOutlivesARuntimeForWhoElseHoldsIt) {
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  CUcontext primary = nullptr;
  ASSERT_OK(cu().device_primary_ctx_retain(&primary, device));
  push(primary);
  CUdeviceptr const memory = allocate(4);
  EXPECT_OK(cu().memset_d8(memory, 7, 4));
  EXPECT_OK(cu().ctx_synchronize());
  {
    runtime rt{with(context_source::primary())};
    EXPECT_EQ(context_of(rt), primary);
    EXPECT_EQ(current(), primary);
  }
  int seen = 0;
  EXPECT_OK(cu().memcpy_dtoh(&seen, memory, 4));
  EXPECT_EQ(seen, 0x07070707);
  EXPECT_OK(cu().mem_free(memory));
  pop();
  EXPECT_OK(cu().device_primary_ctx_release(device));
}

// C1.22 S3.1: a runtime uses an adopted context. The runtime's destructor restores the settings of
// the context and does not destroy the context
TEST_F(ContextSources, AnAdoptedContextIsUsedAndGivenBackAsItWas) {
  CUcontext const mine = create();
  std::size_t const stack = 3072;
  EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_STACK_SIZE, stack));
  EXPECT_OK(cu().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_EQUAL));
  CUdeviceptr const memory = allocate(4);
  {
    runtime_options options = with(context_source::adopted(mine));
    options.settings.all.stack_bytes = 8192;
    options.settings.all.cache = cache_preference::l1;
    runtime rt{options};
    EXPECT_EQ(context_of(rt), mine);
    EXPECT_EQ(written_by(rt, 6), 6);
    std::size_t now = 0;
    EXPECT_OK(cu().ctx_get_limit(&now, CU_LIMIT_STACK_SIZE));
    EXPECT_EQ(now, 8192u);
    EXPECT_EQ(current(), mine);
  }
  std::size_t now = 0;
  EXPECT_OK(cu().ctx_get_limit(&now, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(now, stack);
  CUfunc_cache cache{};
  EXPECT_OK(cu().ctx_get_cache_config(&cache));
  EXPECT_EQ(cache, CU_FUNC_CACHE_PREFER_EQUAL);
  EXPECT_OK(cu().memset_d8(memory, 1, 4)) << "the context and its memory must still exist";
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(pop(), mine);
}

// S3.4: the owner of an adopted context can use the context at the same time as the runtime
TEST_F(ContextSources, AnAdoptedContextIsSharedWithItsOwner) {
  CUcontext const mine = create();
  CUmodule const module = load();
  std::uint32_t* const word = pinned(1);
  {
    runtime rt{with(context_source::adopted(mine))};
    // A task can launch the application's function on the task's stream, because the function and
    // the stream belong to one context.
    CUfunction const put = function(module, "put");
    rt.submit([&](task_context& context) {
        EXPECT_OK(launch(put, context.stream(), word, 9));
      }).wait();
    EXPECT_EQ(*word, 9u);
    EXPECT_OK(launch(put, nullptr, word, 10));
    EXPECT_OK(cu().ctx_synchronize());
    EXPECT_EQ(*word, 10u);
  }
  pop();
}

// S3.4: an invalid context handle is refused, and the error names the device
TEST_F(ContextSources, WhatIsNoContextIsNotAdopted) {
  int here = 0;
  auto* const nonsense = reinterpret_cast<CUcontext>(&here);
  if (on_gpus()) {
    GTEST_SKIP() << "needs the CPU driver: a GPU driver may dereference an invalid handle";
  }
  EXPECT_THAT(thrown<error>([&] { runtime const rt{with(context_source::adopted(nonsense))}; }),
              HasSubstr("device 0"));
  EXPECT_EQ(current(), nullptr);
}

}  // namespace
}  // namespace flotilla::test
