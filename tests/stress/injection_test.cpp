// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Driver calls that fail at random places. Every ticket must end, and nothing may leak or hang.

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Injection : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
  }
};

// Driver functions that a runtime calls to run tasks, and that can fail if a resource is missing.
constexpr std::array calls_while_running{"cuLaunchKernel",
                                         "cuLaunchKernelEx",
                                         "cuEventRecord",
                                         "cuEventCreate",
                                         "cuEventQuery",
                                         "cuStreamWaitEvent",
                                         "cuStreamQuery",
                                         "cuMemcpyAsync",
                                         "cuMemcpyHtoDAsync",
                                         "cuMemcpyDtoHAsync",
                                         "cuMemcpyDtoDAsync",
                                         "cuMemcpyPeerAsync",
                                         "cuMemsetD8Async",
                                         "cuMemsetD32Async",
                                         "cuMemAlloc",
                                         "cuMemAllocAsync",
                                         "cuMemHostAlloc",
                                         "cuLaunchHostFunc",
                                         "cuStreamWriteValue64",
                                         "cuStreamWriteValue32",
                                         "cuStreamCreate",
                                         "cuGraphCreate",
                                         "cuGraphAddKernelNode",
                                         "cuGraphAddBatchMemOpNode",
                                         "cuGraphInstantiateWithFlags",
                                         "cuGraphExecKernelNodeSetParams",
                                         "cuGraphExecBatchMemOpNodeSetParams",
                                         "cuGraphNodeSetEnabled",
                                         "cuGraphLaunch"};

constexpr std::array statuses{driver_status::out_of_memory, driver_status::invalid_value,
                              driver_status::invalid_handle,
                              driver_status::launch_out_of_resources};

/// Submits launches and callables to every device. Some of these tasks have predecessors. Ignores a
/// task if its submit throws an `error`. @return the tickets of the accepted tasks.
std::vector<ticket> submit_tasks(runtime& rt, launch const& nothing, std::atomic<int>& called) {
  std::vector<ticket> open;
  auto const try_to = [&](auto submit) {
    try {
      open.push_back(submit());
    } catch (error const&) {}
  };
  auto const devices = static_cast<unsigned>(rt.devices().size());
  for (unsigned i = 0; i < 40; ++i) {
    task_options how{.device = device_ordinal{i % devices}};
    if (!open.empty() && i % 3 == 0) { how.after.add(open.back()); }
    try_to([&] { return rt.submit(nothing, how); });
    if (i % 5 == 0) {
      try_to([&] { return rt.submit([&](task_context&) { ++called; }, how); });
    }
  }
  return open;
}

/// Submits copies and fills on every device. Checks that each ticket ends, with or without an
/// error.
void copy_data(runtime& rt) {
  for (device const& device : rt.devices()) {
    try {
      std::vector<std::uint32_t> host(300'000, 7);
      device_buffer<std::uint32_t> one{rt, device, host.size()},
          two{rt, rt.devices().front(), host.size()};
      ticket const up = rt.submit(one.copy_from(host));
      ticket const across = rt.submit(one.copy_to(two), {.after = {up}});
      ticket const down = rt.submit(two.copy_to(host), {.after = {across}});
      ticket const filled = rt.submit(two.fill(3), {.after = {down}});
      for (ticket const* each : {&up, &across, &down, &filled}) {
        EXPECT_TRUE(ended(*each));
        try {
          each->wait();
        } catch (error const&) {}
      }
    } catch (error const&) {  // a buffer could not be allocated
    }
  }
}

/// Injects `count` failures. Each failure affects one of the next 60 calls of a random driver
/// function.
/// @return a text that lists the failures.
std::string inject_random_failures(std::minstd_rand& random, int count) {
  std::string injected;
  for (int i = 0; i < count; ++i) {
    char const* const entry = calls_while_running[random() % calls_while_running.size()];
    std::uint64_t const nth = 1 + random() % 60;
    driver_status const status = statuses[random() % statuses.size()];
    testing::fail_call(entry, nth, status);
    injected += std::string{entry} + "@" + std::to_string(nth) + ":" + to_string(status) + " ";
  }
  return injected;
}

// stress: every ticket ends, whichever driver calls fail, and the runtime works again afterwards
TEST_F(Injection, EveryTicketEndsWhateverCallFails) {
  std::size_t const rounds = scaled(400, 20);
  std::minstd_rand random{20240607};
  std::size_t failed = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::string injected;
    {
      runtime rt{{.devices = device_spec(2),
                  .workers = static_cast<int>(round % 3),
                  .fuse_launches = round % 2 == 0}};
      test_program const program{rt};
      launch const nothing = program.nothing.with_shape({1}, {1})();
      injected = inject_random_failures(random, 1 + static_cast<int>(random() % 4));
      std::atomic<int> called{0};
      std::vector<ticket> const open = submit_tasks(rt, nothing, called);
      for (ticket const& each : open) {
        ASSERT_TRUE(ended(each)) << "a ticket is still open after the failures " << injected;
        try {
          each.wait();
        } catch (error const&) { ++failed; }
      }
      copy_data(rt);
      testing::clear_faults();
      // The runtime works again as soon as no driver call fails.
      rt.submit(nothing, {.device = device_ordinal{0}}).wait();
      rt.submit(nothing, {.device = device_ordinal{1}}).wait();
    }
    ASSERT_EQ(stack_depth(), 0u) << injected;
    ASSERT_EQ(::testing::Test::HasFailure(), false) << injected;
  }
  EXPECT_GT(failed, 0u) << "the injected failures must fail some tasks";
}

constexpr char const* entries[] = {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) #name,
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
};

/// If the driver refuses to destroy an object, it stays. If it refuses to pop a context, the
/// context stays current.
bool may_leave_something(std::string_view entry) {
  return entry.find("Destroy") != entry.npos || entry.find("Free") != entry.npos ||
         entry.find("Unload") != entry.npos || entry == "cuCtxPopCurrent";
}

// error guess: if the constructor of a runtime throws, nothing leaks
TEST_F(Injection, FailedStartLeaksNothing) {
  std::size_t const handles = live_handles();
  std::size_t refused = 0;
  for (char const* const entry : entries) {
    bool is_called = !may_leave_something(entry);
    for (unsigned n = 1; n <= 6 && is_called; ++n) {
      testing::delay_calls(entry, std::chrono::microseconds{0});  // counts the calls
      testing::fail_call(entry, n, driver_status::out_of_memory);
      try {
        runtime_options options{.devices = device_spec(2), .workers = 1};
        options.settings = settings::parse("limits.stack=4096,cache=l1");
        runtime rt{options};
        test_program const program{rt};
        rt.submit(program.nothing.with_shape({1}, {1})()).wait();
      } catch (error const& why) {
        ++refused;
        EXPECT_NE(std::string{why.what()}.size(), 0u);
      }
      is_called = driver::cpu_control().delayed_calls(entry) >= n;
      testing::clear_faults();
      EXPECT_EQ(live_handles(), handles) << entry << ", call " << n;
      EXPECT_EQ(stack_depth(), 0u) << entry << ", call " << n;
    }
  }
  EXPECT_GT(refused, 30u) << "the injected failures had too little effect";
}

// error guess: if pushing the context fails twice, every ticket ends, and the runtime works again
// afterwards
TEST_F(Injection, FailedPushLosesNoTask) {
  for (int const workers : {0, 1}) {
    runtime rt{{.devices = device_spec(1), .workers = workers}};
    test_program const program{rt};
    std::vector<ticket> open;
    for (int i = 0; i < 10; ++i) {
      open.push_back(rt.submit(program.nothing.with_shape({1}, {1})()));
    }
    testing::fail_call("cuCtxPushCurrent", 1, driver_status::invalid_context);
    testing::fail_call("cuCtxPushCurrent", 2, driver_status::invalid_context);
    for (ticket const& each : open) {
      EXPECT_TRUE(ended(each));
      try {
        each.wait();
      } catch (error const&) {}
    }
    testing::clear_faults();
    // A worker whose push has failed before may end one more task with this failure.
    EXPECT_TRUE(ended(rt.submit(program.nothing.with_shape({1}, {1})())));
    rt.submit(program.nothing.with_shape({1}, {1})()).wait();
  }
}

// error guess: if a call to push, pop or query the current context fails, the device may become
// unusable, but every ticket ends and the runtime's destructor returns
TEST_F(Injection, FailedPushOrPopLeavesNoTicketOpen) {
  for (char const* const entry : {"cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxGetCurrent"}) {
    for (unsigned n = 1; n <= 12; ++n) {
      std::jthread{[&] {  // a new thread, because a failed pop leaves a context on its stack
        runtime rt{{.devices = device_spec(2),
                    .workers = static_cast<int>(n % 2),
                    .fuse_launches = n % 4 < 2}};
        test_program const program{rt};
        launch const nothing = program.nothing.with_shape({1}, {1})();
        std::atomic<int> called{0};
        testing::fail_call(entry, n, driver_status::invalid_context);
        for (ticket const& each : submit_tasks(rt, nothing, called)) {
          EXPECT_TRUE(ended(each))
              << "a ticket is still open after call " << n << " of " << entry << " failed";
        }
        testing::clear_faults();
      }}
          .join();
    }
  }
}

// requirement: an allocation fails if device memory is full, and succeeds after memory was freed
TEST_F(Injection, AllocationsFailWithoutMemoryAndSucceedAfterAFree) {
  testing::limit_memory(testing::cpu_device{0}, 64u << 20);
  runtime rt{{.devices = device_spec(1)}};
  {
    device_buffer<char> large{rt, device_ordinal{0}, 40u << 20};
    EXPECT_THROW((device_buffer<char>{rt, device_ordinal{0}, 40u << 20}), driver_error);
  }
  // flotilla frees the memory of `large` after the last task that may use this memory.
  rt.wait_idle();
  EXPECT_TRUE(pumping(rt, [&] {
    try {
      device_buffer<char> again{rt, device_ordinal{0}, 40u << 20};
      return true;
    } catch (driver_error const&) { return false; }
  }));
}

}  // namespace
}  // namespace flotilla::test
