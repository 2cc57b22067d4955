// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What happens when a context is destroyed: to its resources, to threads and to other contexts.
#include "contexts_test.hpp"

#include <atomic>

#include "support/eventually.hpp"
#include "support/hold.hpp"

namespace flotilla::test {
namespace {

using ContextLifetime = contexts_test;

// C1.1 C1.2 C4.1 C4.2 C4.5 C4.6 C4.7 C4.22: destroying a context frees its memory, streams, events
// and modules
TEST_F(ContextLifetime, EverythingMadeInAContextEndsWithIt) {
  constexpr std::size_t block = 256u << 20;
  CUcontext const witness = create();
  CUcontext const owner = create();
  pop();
  std::size_t const before = free_bytes();
  push(owner);
  CUdeviceptr const memory = allocate(block);
  EXPECT_OK(cu().memset_d8(memory, 1, block));
  CUstream const lane = stream();
  CUevent event = nullptr;
  EXPECT_OK(cu().event_create(&event, CU_EVENT_DISABLE_TIMING));
  CUmodule const module = load();
  EXPECT_OK(launch(function(module, "nothing"), lane));
  EXPECT_OK(cu().event_record(event, lane));
  pop();
  EXPECT_LE(free_bytes() + block, before);
  destroy(owner);
  // `owner` itself already used memory when `before` was measured. `destroy` frees this memory,
  // too.
  EXPECT_GE(free_bytes(), before);
  CUcontext found = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  EXPECT_EQ(current(), witness);
  pop();
}

// C4.3: destroying a context frees its pinned host memory
TEST_F(ContextLifetime, PinnedMemoryEndsWithItsContext) {
  CUcontext const witness = create();
  CUcontext const owner = create();
  std::uint32_t* const words = pinned(1024);
  CUcontext found = nullptr;
  auto const address = reinterpret_cast<CUdeviceptr>(words);
  EXPECT_OK(cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  EXPECT_EQ(found, owner);
  destroy(owner);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  EXPECT_EQ(current(), witness);
  pop();
}

// C4.10: destroying a context frees the driver's own resources. The test detects a leak of 1 MiB
// per context
TEST_F(ContextLifetime, ManyContextsLeaveNothingBehind) {
  CUcontext const witness = create();
  destroy(floating());
  std::size_t const before = free_bytes();
  constexpr int rounds = 16;
  for (int i = 0; i < rounds; ++i) { destroy(floating()); }
  EXPECT_GE(free_bytes() + (std::size_t{rounds} << 20), before);
  EXPECT_EQ(current(), witness);
  pop();
}

// C4.2 C4.5 C4.6 C4.7: destroying a context frees its modules, streams, events and memory, although
// the program destroys none of them. The test detects a leak of a quarter of the modules' data, of
// 32 KiB for each stream, or of 4 KiB for each event
TEST_F(ContextLifetime, ManyContextsEndWithTheirModulesStreamsAndEvents) {
  constexpr int rounds = 20, streams = 8, events = 64;
  constexpr std::size_t ballast = 1u << 20;  // in the module
  CUcontext const witness = create();
  std::size_t const handles = live_handles();
  auto const fill_and_destroy = [&] {
    CUcontext const made = create();
    CUmodule const module = load();
    CUdeviceptr const word = allocate(4);
    for (int i = 0; i < streams; ++i) {
      EXPECT_OK(launch(function(module, "use_ballast"), stream(), 1u, word));
    }
    for (int i = 0; i < events; ++i) {
      CUevent event = nullptr;
      EXPECT_OK(cu().event_create(&event, 0));
      EXPECT_OK(cu().event_record(event, nullptr));
    }
    EXPECT_OK(cu().ctx_synchronize());
    destroy(made);
  };
  EXPECT_LE(bytes_lost("contexts with modules, streams and events", rounds, fill_and_destroy),
            static_cast<long long>(rounds * ballast / 4));
  EXPECT_EQ(live_handles(), handles) << "handles of the CPU driver";
  EXPECT_EQ(current(), witness);
  pop();
}

// C4.2 C4.22: the memory of a `device_buffer` belongs to no context. The runtime frees it, and the
// destructor of the runtime gives the memory of its devices back
TEST_F(ContextLifetime, ARuntimeFreesTheMemoryOfItsBuffers) {
  constexpr std::size_t block = 256u << 20;
  constexpr std::size_t margin = 64u << 20;  // for other processes that use the device
  CUcontext const witness = create();
  { runtime const warm{{.devices = device_spec(1), .workers = 1}}; }
  std::size_t const before = free_bytes();
  {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    device_buffer<std::byte> buffer{rt, device_ordinal{0}, block};
    rt.submit(buffer.fill(std::byte{1})).wait();
    EXPECT_LE(free_bytes() + block, before + margin);
  }
  EXPECT_GE(free_bytes() + margin, before);
  EXPECT_EQ(current(), witness);
  pop();
}

// C1.3 C4.23 C4.25: functions and streams belong to one context, and the driver refuses them in
// another context
TEST_F(ContextLifetime, FunctionsAndStreamsAreRefusedInAnotherContext) {
  CUcontext const a = create();
  CUfunction const of_a = function(load(), "nothing");
  pop();
  CUcontext const b = create();
  CUstream const of_b = stream();
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, launch(of_a, of_b));
  CUfunction const own = function(load(), "nothing");
  EXPECT_OK(launch(own, of_b));
  CUcontext home = nullptr;
  EXPECT_OK(cu().stream_get_ctx(of_b, &home));
  EXPECT_EQ(home, b);
  EXPECT_OK(cu().ctx_synchronize());
  pop();
  EXPECT_NE(a, b);
}

// C4.26: an event of one context cannot be recorded in a stream of another context, but a stream
// may wait for an event of another context
TEST_F(ContextLifetime, EventsAreRefusedInAnotherContextsStreams) {
  CUcontext const a = create();
  CUevent of_a = nullptr;
  EXPECT_OK(cu().event_create(&of_a, CU_EVENT_DISABLE_TIMING));
  CUstream const lane_a = stream();
  pop();
  CUcontext const b = create();
  CUstream const lane_b = stream();
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu().event_record(of_a, lane_b));
  EXPECT_OK(cu().event_record(of_a, lane_a))
      << "recording in a stream of the event's context must not depend on the current context";
  EXPECT_OK(cu().stream_wait_event(lane_b, of_a, 0));
  EXPECT_OK(cu().stream_synchronize(lane_b));
  pop();
  EXPECT_NE(a, b);
}

// C2.22: destroying the current context pops it from the calling thread's stack
TEST_F(ContextLifetime, DestroyingTheCurrentContextPopsIt) {
  CUcontext const made = create();
  destroy(made);
  EXPECT_EQ(current(), nullptr);
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu().ctx_pop_current(nullptr));
}

// C2.20 C2.23: a destroyed context stays current on other threads. Calls on these threads return
// CUDA_ERROR_CONTEXT_IS_DESTROYED, and the threads can pop the context
TEST_F(ContextLifetime, OtherThreadsKeepADestroyedContextThatAnswersSo) {
  CUcontext const doomed = floating();
  latch gone;
  std::atomic<int> ready{0};
  auto const holder = [&] {
    ASSERT_OK(cu().ctx_push_current(doomed));
    ++ready;
    gone.wait();
    EXPECT_EQ(current(), doomed);
    CUdeviceptr memory = 0;
    EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu().mem_alloc(&memory, 4));
    EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu().ctx_synchronize());
    EXPECT_EQ(pop(), doomed);
    EXPECT_EQ(current(), nullptr);
  };
  std::thread first{holder}, second{holder};
  EXPECT_TRUE(eventually([&] { return ready == 2; }));
  destroy(doomed);
  gone.open();
  first.join();
  second.join();
}

// C2.21: the destructor of a flotilla runtime waits for every task before it destroys the contexts
TEST_F(ContextLifetime, ARuntimeEndsItsContextsAfterTheirLastTask) {
  constexpr int tasks = 200;
  std::atomic<int> ran{0};
  std::vector<ticket> tickets;
  {
    runtime rt{{.devices = device_spec(1), .workers = 2}};
    std::vector<std::jthread> running;
    std::vector<std::vector<ticket>> theirs(4);
    for (auto& mine : theirs) {
      running.emplace_back([&] {
        for (int i = 0; i < tasks; ++i) {
          mine.push_back(rt.submit([&ran](task_context& context) {
            EXPECT_EQ(current_context(), context.context());
            ++ran;
          }));
        }
      });
    }
    running.clear();
    for (auto& each : theirs) { std::move(each.begin(), each.end(), std::back_inserter(tickets)); }
  }
  EXPECT_EQ(ran, 4 * tasks);
  for (ticket const& each : tickets) { EXPECT_TRUE(each.ready()); }
}

}  // namespace
}  // namespace flotilla::test
