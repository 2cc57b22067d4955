// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Host memory runs out where nothing may fail: in destructors, in threads of the runtime, and in
// calls that have already changed a stream of the application.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/interop.hpp>
#include <flotilla/task/bulk.hpp>
#include <flotilla/testing/fault_injection.hpp>
#include <flotilla/trace.hpp>

#include "stress/no_memory/allocations.hpp"
#include "support/application.hpp"
#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/inside.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using word = std::uint32_t;

class NoRoom : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
  static runtime_options options() { return {.devices = "cpu:2", .workers = GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(, NoRoom, ::testing::Values(0, 1), [](auto const& each) {
  return std::string{each.param == 0 ? "no_worker" : "one_worker"};
});

/// A runtime with a task that runs until it is released, so that memory that is given up meanwhile
/// is kept for later.
struct busy_runtime {
  explicit busy_runtime(runtime_options const& options) : rt{options} { begin(); }
  /// Calls `prepare(runtime)` first. A CPU device runs one kernel at a time, so a copy that a
  /// kernel executes would wait for the open task.
  template <class Prepare>
  busy_runtime(runtime_options const& options, Prepare const& prepare) : rt{options} {
    prepare(rt);
    begin();
  }
  void begin() {
    open = rt.submit(held.launch_of(program), {.device = device_ordinal{0}});
    while (!held.started()) { rt.pump(); }
  }
  runtime rt;
  test_program program{rt};
  held_word held{rt};
  ticket open;
};

// regression: a destructor needed a block of memory for the list of what is given up, and ended the
// process: buffers, pinned buffers, recordings, and data of flows
TEST_P(NoRoom, DestructorsNeedNoMemory) {
  EXPECT_EQ(survived, forked([] {
              std::optional<flow> made;
              std::vector<word> contents(100, 7);
              std::vector<std::unique_ptr<data<word>>> parts;
              auto const use_flow = [&](runtime& rt) {
                made.emplace(rt);
                for (unsigned i = 0; i < 40; ++i) {
                  parts.emplace_back(new data<word>{*made, std::span{contents}, "data"});
                  parts.back()->prefetch_to(device_ordinal{i % 2});
                }
                rt.wait_idle();
              };
              busy_runtime busy{options(), use_flow};
              runtime& rt = busy.rt;
              std::vector<device_buffer<word>> on_device;
              std::vector<host_buffer<word>> pinned;
              std::vector<std::unique_ptr<recording>> recordings;
              for (unsigned i = 0; i < 40; ++i) {
                on_device.emplace_back(rt, device_ordinal{i % 2}, 100u);
                pinned.emplace_back(rt, 100u);
                recordings.push_back(std::make_unique<recording>(rt));
                recordings.back()->add(on_device.back().fill(i));
                recordings.back()->finish();
              }
              allocations.start(1, failing::from_then_on);
              on_device.clear();
              pinned.clear();
              recordings.clear();
              parts.clear();
              made.reset();
              allocations.stop();
              busy.held.release();
              busy.open.wait();
              return survived;
            }));
}

// regression: the end of a poisoned runtime started a thread, and ended the process if there was no
// memory for one
TEST_P(NoRoom, APoisonedRuntimeEndsWithoutMemory) {
  EXPECT_EQ(survived, forked([] {
              std::optional<runtime> rt{options()};
              std::optional<test_program> program{*rt};
              launch const trap = program->loaded.kernel<>("trap_now").with_shape({1}, {1})();
              bool is_poisoned = false;
              try {
                rt->submit(trap).wait();
              } catch (poisoned const&) { is_poisoned = true; }
              program.reset();
              allocations.start(1, failing::from_then_on);
              rt.reset();
              allocations.stop();
              return is_poisoned ? survived : wrong_result;
            }));
}

// regression: a recording that cannot be built gives up its parts
TEST_P(NoRoom, RecordingsThatFailNeedNoMemory) {
  for_each_allocation([](long n) {
    busy_runtime busy{options()};
    device_buffer<word> one{busy.rt, device_ordinal{0}, 100u},
        two{busy.rt, device_ordinal{1}, 100u};
    std::vector<std::unique_ptr<recording>> given_up;
    for (int i = 0; i < 11; ++i) {
      given_up.push_back(std::make_unique<recording>(busy.rt));
      given_up.back()->add(one.fill(1));
      given_up.back()->finish();
    }
    given_up.clear();
    recording last{busy.rt};
    auto const first = last.add(one.fill(1));
    last.add(two.fill(1), {.after = {first}});
    allocations.start(n, failing::from_then_on);
    try {
      last.finish();
    } catch (std::exception const&) {}
    allocations.stop();
    busy.held.release();
    try {
      busy.open.wait();
    } catch (poisoned const&) {}
    return allocations.reached ? survived : not_reached;
  });
}

// regression: the trace ended the process if there was no memory for its beginning
TEST_P(NoRoom, TracesNeverEndTheProcess) {
  for_each_allocation([](long n) {
    runtime rt{options()};
    rt.submit([](task_context&) {}).wait();
    allocations.start(n, failing::once);
    try {
      trace one{rt, {.file = "/dev/null"}};
      for (int i = 0; i < 3; ++i) {
        rt.submit([](task_context&) {}).wait();
      }
      one.end();
    } catch (std::exception const&) {}
    allocations.stop();
    return allocations.reached ? survived : not_reached;
  });
}

// regression: without memory, enqueue_wait forgot that the stream waits. The destructor of the
// runtime did not wait, and the stream read memory that was freed
TEST_P(NoRoom, NoStreamIsForgotten) {
  for_each_allocation([](long n) {
    application app;
    CUstream const free = app.make_stream();
    CUstream const late = app.make_stream();
    app.wait_at_gate(late);
    {
      busy_runtime busy{options()};
      allocations.start(n, failing::once);
      for (int i = 0; i < 8; ++i) {
        for (CUstream const each : {free, late}) {
          try {
            enqueue_wait(busy.open, each);
          } catch (std::exception const&) {}
        }
      }
      allocations.stop();
      busy.held.release();
      try {
        busy.open.wait();
      } catch (poisoned const&) {}
      std::jthread const opener{[&] {
        // A fixed time, because nothing tells that the destructor of the runtime waits.
        std::this_thread::sleep_for(5ms);
        app.open_gate();
      }};
    }
    return allocations.reached ? survived : not_reached;
  });
}

// regression: the slot of the last item was free before the error of the bulk had reached on_error,
// so wait_idle returned too early. The delay makes the time between the two long
TEST_P(NoRoom, WaitIdleWaitsForTheErrorsOfABulk) {
  EXPECT_EQ(survived, forked([] {
              std::atomic<int> errors{0};
              runtime_options changed = options();
              changed.on_error = [&](std::exception_ptr const&) { ++errors; };
              runtime rt{changed};
              test_program const program{rt};
              struct my_failure {};
              allocations.delay_other_threads(2ms);
              int missed = 0;
              for (int round = 1; round <= 10; ++round) {
                try {
                  static_cast<void>(rt.submit(bulk(20, [&](std::size_t i) {
                    if (i == 4) { throw my_failure{}; }
                    return refused_launch(program);
                  })));
                } catch (my_failure const&) {}
                rt.wait_idle();
                missed += errors == round ? 0 : 1;
              }
              allocations.delay_other_threads(0us);
              return missed == 0 ? survived : wrong_result;
            }));
}

// regression: a kernel that hangs ended the process, and a grid that got no helpers was a fault
TEST_P(NoRoom, KernelsOfCpuDevicesNeedNoMemory) {
  EXPECT_EQ(survived, forked([] {
              constexpr device_ordinal device{0};
              std::optional<device_word> sum;
              busy_runtime busy{options(), [&](runtime& rt) {
                                  sum.emplace(rt, device);
                                  test_program const same{rt};  // reserves memory for arguments
                                  rt.submit(same.add.over(1, 1)(sum->buffer(), 0u)).wait();
                                }};
              auto const batches = [&] { return busy.rt.counters(device).batches; };
              std::uint64_t const before = batches();
              testing::hang_kernel(busy.rt.devices()[0], 1, 5ms);
              ticket const large =
                  busy.rt.submit(busy.program.add.with_shape({100'000}, {1})(sum->buffer(), 1u),
                                 {.device = device});
              while (batches() == before) { busy.rt.pump(); }
              std::this_thread::sleep_for(20ms);  // a worker that was asked for begins
              {
                // Without a pass, which could need memory: a worker may be at the end of its own.
                context::lease const lease = inside(busy.rt).devices[0].gate().take();
                allocations.start(1, failing::from_then_on);
                busy.held.release();
                std::this_thread::sleep_for(50ms);
                allocations.stop();
              }
              large.wait();
              bool const is_right = sum->read() == 100'000;
              sum.reset();  // the runtime must end last
              return is_right ? survived : wrong_result;
            }));
}

}  // namespace
}  // namespace flotilla::test
