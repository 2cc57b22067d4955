// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Floating contexts: contexts that are current on no thread. In flotilla, the thread that drives a
// device pushes the device's context onto the thread's context stack.
#include "contexts_test.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <mutex>
#include <set>

#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/kernels.hpp"
#include "support/tbb_threads.hpp"

namespace flotilla::test {
namespace {

using FloatingContexts = contexts_test;

// C1.13 C1.14 C2.46 C2.47: after one thread has popped a context, another thread can push it
TEST_F(FloatingContexts, APoppedContextIsPushedByAnotherThread) {
  CUcontext const made = create();
  CUcontext popped = nullptr;
  EXPECT_OK(cu().ctx_pop_current(&popped));
  EXPECT_EQ(popped, made);
  elsewhere([&] {
    pushed const here{popped};
    std::uint32_t* const word = pinned(1);
    EXPECT_OK(launch(function(load(), "put"), nullptr, word, 17));
    EXPECT_OK(cu().ctx_synchronize());
    EXPECT_EQ(*word, 17u);
  });
  EXPECT_EQ(current(), nullptr);
}

// C3.9 C3.10 C4.48: memory, modules and variables of a context are available on every thread that
// pushes the context
TEST_F(FloatingContexts, StateTravelsWithTheContext) {
  CUcontext const made = create();
  CUmodule const module = load();
  CUdeviceptr const memory = allocate(8);
  EXPECT_OK(launch(function(module, "put_travelling"), nullptr, 1234));
  EXPECT_OK(launch(function(module, "put"), nullptr, memory, 99));
  pop();
  CUcontext const other = floating();
  for (int thread = 0; thread < 3; ++thread) {
    elsewhere([&] {
      pushed const here{made};
      int seen[2] = {};
      EXPECT_OK(launch(function(module, "take_travelling"), nullptr, memory + 4));
      EXPECT_OK(cu().memcpy_dtoh(seen, memory, sizeof seen));
      EXPECT_EQ(seen[0], 99);
      EXPECT_EQ(seen[1], 1234 + thread);
      EXPECT_OK(launch(function(module, "put_travelling"), nullptr, seen[1] + 1));
      EXPECT_OK(cu().ctx_synchronize());
    });
  }
  // The other context has its own copy of the variable, which has not changed.
  pushed const here{other};
  CUdeviceptr const word = allocate(4);
  int seen = 0;
  EXPECT_OK(launch(function(load(), "take_travelling"), nullptr, word));
  EXPECT_OK(cu().memcpy_dtoh(&seen, word, 4));
  EXPECT_EQ(seen, 7);
}

// C3.9: a variable has one address in a context, on every thread, and another address in another
// context
TEST_F(FloatingContexts, AddressesOfVariablesBelongToTheContext) {
  auto const address_in = [](CUmodule module) {
    CUdeviceptr found = 0;
    std::size_t bytes = 0;
    EXPECT_OK(cu().module_get_global(&found, &bytes, module, "travelling"));
    EXPECT_EQ(bytes, sizeof(int));
    return found;
  };
  CUcontext const made = create();
  CUmodule const module = load();
  CUdeviceptr const here = address_in(module);
  pop();
  elsewhere([&] {
    pushed const there{made};
    EXPECT_EQ(address_in(module), here);
  });
  create();
  CUdeviceptr const other = address_in(load());
  EXPECT_NE(other, here);
  CUcontext owner = nullptr;
  EXPECT_OK(cu().pointer_get_attribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, here));
  EXPECT_EQ(owner, made);
  EXPECT_OK(cu().pointer_get_attribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, other));
  EXPECT_EQ(owner, pop());
}

// C3.9: each device has its own copy of the variables of a `flotilla::program`. All threads that
// drive the device use this copy
TEST_F(FloatingContexts, AProgramsVariablesTravelWithItsDevice) {
  runtime rt{{.devices = device_spec(1), .workers = 2}};
  program const loaded = rt.load(test_image());
  auto const tally_up = loaded.kernel<std::uint32_t*>("tally_up");
  device_buffer<std::uint32_t> out{rt, device_ordinal{0}, 1};
  constexpr std::uint32_t tasks = 50, factor = 3;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    std::jthread{[&] { rt.submit(tally_up.with_shape({1}, {1})(out)).wait(); }}.join();
  }
  std::uint32_t seen = 0;
  rt.submit(out.copy_to(std::span{&seen, 1})).wait();
  EXPECT_EQ(seen, tasks * factor);
}

// C4.21: a context can be current on several threads at the same time
TEST_F(FloatingContexts, AContextCanBeCurrentOnManyThreads) {
  constexpr int threads = 8;
  CUcontext const made = floating();
  std::barrier all{threads};
  std::vector<std::jthread> running;
  std::atomic<int> right{0};
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      pushed const here{made};
      all.arrive_and_wait();
      EXPECT_EQ(current(), made);
      CUdeviceptr const memory = allocate(4);
      int seen = -1;
      EXPECT_OK(launch(function(load(), "put"), nullptr, memory, i));
      EXPECT_OK(cu().memcpy_dtoh(&seen, memory, 4));
      right += seen == i ? 1 : 0;
      all.arrive_and_wait();
    });
  }
  running.clear();
  EXPECT_EQ(right, threads);
}

// error guess: if a context is current on a thread that ends, other threads can still use the
// context
TEST_F(FloatingContexts, AThreadThatEndsLeavesItsContextToOthers) {
  CUcontext const made = floating();
  elsewhere([&] { push(made); });
  pushed const here{made};
  allocate(4);
}

// C4.39 C4.41 C4.44: one thread can drive several contexts if it pushes and pops them in turn
TEST_F(FloatingContexts, OneThreadDrivesSeveralContextsInTurn) {
  struct driven {
    CUcontext context;
    CUfunction step;
    CUstream lane;
    std::uint32_t* value;
  };
  std::vector<driven> all;
  for (int i = 0; i < 3; ++i) {
    CUcontext const made = create(0, i % std::min(2, devices_there()));
    CUfunction const step = function(load(), "times_plus");
    all.push_back({made, step, stream(), pinned(1)});
    *all.back().value = static_cast<std::uint32_t>(i);
    pop();
  }
  for (int round = 0; round < 10; ++round) {
    for (driven const& each : all) {
      pushed const here{each.context};
      EXPECT_OK(launch(each.step, each.lane, each.value, 2, 1));
    }
    EXPECT_EQ(current(), nullptr);
  }
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    pushed const here{all[i].context};
    EXPECT_OK(cu().stream_synchronize(all[i].lane));
    EXPECT_EQ(*all[i].value, i * 1024 + 1023);
  }
}

// C4.41: without workers, the thread that calls `pump` drives every device of a flotilla runtime
TEST_F(FloatingContexts, ARuntimeWithoutWorkersDrivesEveryDevice) {
  int const devices = std::min(2, devices_there());
  runtime rt{{.devices = device_spec(devices), .workers = 0}};
  std::vector<CUcontext> seen(static_cast<std::size_t>(devices));
  std::vector<ticket> tickets;
  for (device const& each : rt.devices()) {
    tickets.push_back(rt.submit(
        [&seen](task_context& context) { seen[context.device().ordinal.value] = current(); },
        {.device = each}));
  }
  while (rt.pump()) { EXPECT_EQ(current(), nullptr); }
  for (ticket const& each : tickets) { each.wait(); }
  for (CUcontext const each : seen) { EXPECT_NE(each, nullptr); }
  if (devices == 2) { EXPECT_NE(seen[0], seen[1]); }
}

// C4.47: on Linux, popping a context does not wait for pending work of that context
TEST_F(FloatingContexts, PoppingDoesNotWaitForPendingWork) {
  CUcontext const made = create();
  std::uint32_t* const words = pinned(2);
  held_stream held{function(load(), "hold_until"), stream(), words};
  EXPECT_EQ(pop(), made) << "the kernel is held, so a pop that waits would never return";
  EXPECT_EQ(current(), nullptr);
  held.release();
  pushed const here{made};
  EXPECT_OK(cu().ctx_synchronize());
}

// C1.14 C4.48: oneTBB's workers hand a runtime's contexts to each other: every context is current
// on each of two workers in turn, and on no thread in between
TEST_F(FloatingContexts, WorkersMigrateContexts) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    parallelism const two_workers{3};  // this thread and two oneTBB threads for workers
    auto const devices = static_cast<unsigned>(std::min(4, devices_there()));
    runtime rt{{.devices = device_spec(static_cast<int>(devices)), .workers = 2}};
    std::mutex guard;
    std::vector<std::set<std::thread::id>> drove(devices);
    std::vector<CUcontext> contexts(devices);
    auto const all_by_two = [&] {
      std::lock_guard const hold{guard};
      return std::all_of(drove.begin(), drove.end(), [](auto const& by) { return by.size() >= 2; });
    };
    // This thread neither waits for a task nor pumps, so only workers drive the devices.
    std::atomic<int> open{0};
    EXPECT_TRUE(eventually([&] {
      if (open < 64) {
        for (unsigned i = 0; i < devices; ++i) {
          ++open;
          (void)rt.submit(
              [&, i](task_context& context) {
                EXPECT_EQ(current(), context.context());
                std::lock_guard const hold{guard};
                drove[i].insert(std::this_thread::get_id());
                EXPECT_TRUE(contexts[i] == nullptr || contexts[i] == context.context());
                contexts[i] = context.context();
                --open;
              },
              {.device = device_ordinal{i}});
        }
      }
      return all_by_two();
    }));
    rt.wait_idle();
    for (unsigned i = 0; i < devices; ++i) {
      EXPECT_GE(drove[i].size(), 2u) << "device " << i;
      EXPECT_GE(rt.counters(device_ordinal{i}).migrations, 1u) << "device " << i;
    }
    EXPECT_EQ(current(), nullptr);
    EXPECT_TRUE(on_each_tbb_thread(3, [] { EXPECT_EQ(current(), nullptr); }));
  });
}

}  // namespace
}  // namespace flotilla::test
