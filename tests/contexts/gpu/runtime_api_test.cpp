// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The CUDA runtime library and contexts. A primary context that the runtime library creates lasts
// until the end of the process. So tests that create a primary context run in a child process.
#include "runtime_test.hpp"

#include <atomic>
#include <thread>

#include "support/eventually.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using RuntimeApi = runtime_test;

// C3.1 C4.13 C4.14: if no context is current, the first call that needs a context creates the
// primary context, which becomes current
TEST_F(RuntimeApi, MakesThePrimaryContextWhereNoneIsCurrent) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_EQ(primary().active, 0);
    EXPECT_EQ(current(), nullptr);
    void* const memory = runtime_memory(4);
    EXPECT_EQ(primary().active, 1);
    CUcontext retained = nullptr;
    EXPECT_OK(cu().device_primary_ctx_retain(&retained, 0));
    EXPECT_EQ(current(), retained);
    EXPECT_EQ(owner_of(memory), retained);
  });
}

// C4.14: if no context is current, a launch creates the primary context
TEST_F(RuntimeApi, ALaunchMakesThePrimaryContext) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_EQ(primary().active, 0);
    EXPECT_CUDART_OK(launch_put_state(1, nullptr));
    EXPECT_EQ(primary().active, 1);
  });
}

// C3.2 C4.15: the runtime library creates the primary context with the flags that were set with
// `cudaSetDeviceFlags`
TEST_F(RuntimeApi, ItsContextHasTheFlagsSetBefore) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_CUDART_OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    EXPECT_CUDART_OK(cudaFree(nullptr));
    unsigned flags = 0;
    EXPECT_OK(cu().ctx_get_flags(&flags));
    EXPECT_EQ(flags & CU_CTX_SCHED_MASK, unsigned{CU_CTX_SCHED_BLOCKING_SYNC});
  });
}

// C3.2: the runtime library creates the primary context on the device that was set with
// `cudaSetDevice`
TEST_F(RuntimeApi, ItsContextIsOnTheDeviceSetBefore) {
  FLOTILLA_NEED_GPUS(2);
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_CUDART_OK(cudaSetDevice(1));
    expect_context_on_device_1();
  });
}

// C4.16: `cudaFree(nullptr)` creates the primary context
TEST_F(RuntimeApi, FreeingNothingInitializes) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_CUDART_OK(cudaFree(nullptr));
    EXPECT_EQ(primary().active, 1);
    EXPECT_NE(current(), nullptr);
  });
}

// C3.4: `cudaSetDeviceFlags` fails if a context is current, and the context stays current. (On an
// H200 the error is cudaErrorIncompatibleDriverContext.)
TEST_F(RuntimeApi, SettingDeviceFlagsWithAContextCurrentLeavesItCurrent) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext const mine = create_in_child();
    cudaError_t const answer = cudaSetDeviceFlags(cudaDeviceScheduleYield);
    std::fprintf(stderr, "cudaSetDeviceFlags with a context current: %s\n",
                 cudaGetErrorName(answer));
    EXPECT_TRUE(answer == cudaErrorIncompatibleDriverContext ||
                answer == cudaErrorSetOnActiveProcess)
        << cudaGetErrorName(answer);
    EXPECT_EQ(current(), mine);
    EXPECT_CUDART_OK(cudaFree(nullptr));
    EXPECT_EQ(current(), mine);
  });
}

// C3.8 C4.55 S1.1: if a context of the driver API is current, the runtime library uses that context
// and creates no other
TEST_F(RuntimeApi, UsesTheContextThatIsCurrent) {
  CUcontext const mine = create();
  int device = -1;
  EXPECT_CUDART_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  void* const memory = runtime_memory(4);
  EXPECT_EQ(owner_of(memory), mine);
  int seen = 0;
  EXPECT_CUDART_OK(launch_put(static_cast<int*>(memory), 5, nullptr));
  EXPECT_CUDART_OK(cudaMemcpy(&seen, memory, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(seen, 5);
  EXPECT_EQ(primary().active, 0);
  EXPECT_EQ(pop(), mine);
}

// C3.8 C4.56: the runtime library does not keep a context of the driver API alive, so destroying
// the context frees its memory at once
TEST_F(RuntimeApi, DoesNotKeepAnOwnedContextAlive) {
  constexpr std::size_t block = 512u << 20;
  CUcontext const witness = create();
  CUcontext const owned = create();
  pop();
  std::size_t const before = free_bytes();
  push(owned);
  void* const memory = runtime_memory(block);
  EXPECT_CUDART_OK(cudaMemset(memory, 1, block));
  EXPECT_CUDART_OK(cudaDeviceSynchronize());
  destroy(owned);
  EXPECT_EQ(current(), witness);
  EXPECT_GE(free_bytes(), before);
  // The runtime library now uses `witness`, because `witness` is current.
  EXPECT_EQ(owner_of(runtime_memory(4)), witness);
  pop();
}

// C3.9 C3.10 S1.1: each context has its own copy of a `__device__` variable, and every thread that
// pushes the context sees that copy
TEST_F(RuntimeApi, StateTravelsWithTheContext) {
  CUcontext const a = floating(), b = floating();
  auto const state_of = [](CUcontext which) {
    int seen = -1;
    elsewhere([&] {
      pushed const here{which};
      int* const memory = static_cast<int*>(runtime_memory(4));
      EXPECT_CUDART_OK(launch_take_state(memory, nullptr));
      EXPECT_CUDART_OK(cudaMemcpy(&seen, memory, 4, cudaMemcpyDeviceToHost));
    });
    return seen;
  };
  {
    pushed const here{a};
    EXPECT_CUDART_OK(launch_put_state(100, nullptr));
    EXPECT_CUDART_OK(cudaDeviceSynchronize());
  }
  EXPECT_EQ(state_of(a), 100);
  EXPECT_EQ(state_of(b), 7);
}

// C3.9: `cudaGetSymbolAddress` returns one address of a variable in a context, on every thread, and
// another address in another context
TEST_F(RuntimeApi, AddressesOfVariablesBelongToTheContext) {
  CUcontext const a = floating(), b = floating();
  auto const address_in = [](CUcontext which) {
    void* found = nullptr;
    elsewhere([&] {
      pushed const here{which};
      EXPECT_CUDART_OK(address_of_state(&found));
      EXPECT_EQ(owner_of(found), which);
    });
    return found;
  };
  void* const first = address_in(a);
  EXPECT_EQ(address_in(a), first);
  EXPECT_NE(address_in(b), first);
}

// C4.17 C4.12: the runtime library has no functions for contexts. Functions of the driver API can
// query and change the context that the runtime library uses
TEST_F(RuntimeApi, ContextsAreReachedThroughTheDriver) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_CUDART_OK(cudaFree(nullptr));
    CUcontext const of_runtime = current();
    ASSERT_NE(of_runtime, nullptr);
    CUcontext const mine = create_in_child();
    EXPECT_EQ(owner_of(runtime_memory(4)), mine);
    EXPECT_EQ(pop(), mine);
    EXPECT_EQ(owner_of(runtime_memory(4)), of_runtime);
  });
}

// C4.18: `cudaDeviceSynchronize` waits for the current context only
TEST_F(RuntimeApi, SynchronizesTheCurrentContext) {
  CUcontext const idle = floating(), busy = create();
  std::uint32_t* const words = pinned(2);
  CUstream const lane = stream();
  EXPECT_CUDART_OK(launch_put_state(7, lane));  // loads the module before a kernel is held
  EXPECT_CUDART_OK(cudaDeviceSynchronize());
  EXPECT_CUDART_OK(launch_hold(words, lane));
  pop();
  push(idle);
  EXPECT_CUDART_OK(cudaDeviceSynchronize()) << "must not wait for the other context's held kernel";
  pop();
  std::atomic_ref{words[1]}.store(1);
  pushed const here{busy};
  EXPECT_CUDART_OK(cudaDeviceSynchronize());
}

// C4.19: `cudaDeviceSetCacheConfig` sets the cache preference of the current context only
TEST_F(RuntimeApi, SetsTheCachePreferenceOfTheCurrentContext) {
  CUcontext const other = floating();
  create();
  EXPECT_CUDART_OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  CUfunc_cache seen{};
  EXPECT_OK(cu().ctx_get_cache_config(&seen));
  EXPECT_EQ(seen, CU_FUNC_CACHE_PREFER_L1);
  push(other);
  EXPECT_OK(cu().ctx_get_cache_config(&seen));
  EXPECT_EQ(seen, CU_FUNC_CACHE_PREFER_NONE);
  pop();
  pop();
}

// C4.20: `cudaSetDevice` replaces the current context on the stack by the device's primary context
TEST_F(RuntimeApi, SettingTheDeviceMakesItsPrimaryCurrent) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext const mine = create_in_child();
    EXPECT_CUDART_OK(cudaSetDevice(0));
    CUcontext retained = nullptr;
    EXPECT_OK(cu().device_primary_ctx_retain(&retained, 0));
    EXPECT_EQ(current(), retained);
    EXPECT_NE(current(), mine);
    EXPECT_OK(cu().ctx_pop_current(nullptr));
    EXPECT_EQ(current(), nullptr) << "cudaSetDevice must not add a context to the stack";
  });
}

// C4.20 S1.3: if a task calls `cudaSetDevice`, its ticket has an error, and flotilla restores the
// context stack
TEST_F(RuntimeApi, ATaskThatSetsTheDeviceIsReportedAndMended) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    ticket const rude =
        rt.submit([](task_context&) { EXPECT_CUDART_OK(cudaSetDevice(0)); }, {.label = "rude"});
    EXPECT_THAT(thrown<error>([&] { rude.wait(); }),
                AllOf(HasSubstr("rude"), HasSubstr("context")));
    rt.submit([](task_context& context) { EXPECT_EQ(current(), context.context()); }).wait();
  });
}

// C4.21: all threads that use the runtime library share the device's primary context
TEST_F(RuntimeApi, ThreadsShareThePrimaryContext) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_CUDART_OK(cudaFree(nullptr));
    CUcontext const mine = current();
    elsewhere([&] {
      EXPECT_CUDART_OK(cudaFree(nullptr));
      EXPECT_EQ(current(), mine);
    });
    EXPECT_EQ(current(), mine);
  });
}

// S1.1: a callable may launch a kernel with `<<<>>>` on the task's stream. The ticket waits for
// this kernel
TEST_F(RuntimeApi, WorksInsideATask) {
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  device_buffer<int> memory{rt, device_ordinal{0}, 1};
  int seen = 0;
  for (int round = 1; round <= 20; ++round) {
    rt.submit([&](task_context& context) {
        EXPECT_CUDART_OK(launch_put(memory.data(), round, context.stream()));
        EXPECT_CUDART_OK(
            cudaMemcpyAsync(&seen, memory.data(), 4, cudaMemcpyDeviceToHost, context.stream()));
      }).wait();
    EXPECT_EQ(seen, round);
  }
  EXPECT_EQ(primary().active, 0);
}

}  // namespace
}  // namespace flotilla::test
