// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Device-side waits on CPU devices. flotilla uses device-side waits only on GPUs, so test kernels
// replace flotilla's built-in kernels here. A CPU device runs one kernel at a time, so a waiting
// kernel blocks its device. So a chain that leaves a device and later returns to it could block
// itself. These tests contain no such chain.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"
#include "support/tbb_threads.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class DeviceSideWaits : public guest_test {
 protected:
  ~DeviceSideWaits() override { testing::clear_faults(); }

  /// Allows as many device-side waits as possible.
  static dispatch::tuning many_waits() {
    return {.multiprocessors_per_device_wait = 1, .cpu_builtins = stand_ins};
  }
  /// Allows one device-side wait at a time.
  static dispatch::tuning one_wait(std::chrono::microseconds turnover) {
    runtime const probe{{.devices = "cpu:2"}};
    return {.multiprocessors_per_device_wait =
                static_cast<unsigned>(probe.devices()[1].multiprocessors),
            .device_wait_turnover = turnover,
            .cpu_builtins = stand_ins};
  }

  /// A runtime with two devices. Both have already run kernels, so that the lengths of the kernels
  /// are known.
  struct device_pair {
    runtime rt;
    test_program program{rt};
    host_buffer<std::uint32_t> value{rt, 1};
    host_buffer<std::uint32_t> beside{rt, 4};  // for tasks without an order between them

    explicit device_pair(dispatch::tuning const& tuned = many_waits())
        : rt{make_runtime({.devices = "cpu:2", .workers = 2}, tuned)} {
      value[0] = 1;
      for (int i = 0; i < 40; ++i) {
        device_ordinal const where{static_cast<unsigned>(i % 2)};
        rt.submit(program.step.with_shape({1}, {1})(value.data(), 1u, 0u), {.device = where})
            .wait();
      }
    }
    /// Launches a task on device 0 that runs until `head` is released. Then launches a task on
    /// device 1 that waits for the first task. @return the task on device 1.
    ticket launched_behind(held_word const& head) {
      std::vector<ticket> made;
      static_cast<void>(held_behind(head, made));
      return std::move(made.back());
    }
    /// Launches the same two tasks as `launched_behind`, and adds the task on device 1 to `behind`.
    /// @return the task on device 0.
    ticket held_behind(held_word const& head, std::vector<ticket>& behind) {
      ticket held = rt.submit(head.launch_of(program), {.device = device_ordinal{0}});
      EXPECT_TRUE(eventually([&] { return head.started(); }));
      auto const batches = [this] { return rt.counters(rt.devices()[1]).batches; };
      std::uint64_t const before = batches();
      behind.push_back(rt.submit(step(1), {.device = device_ordinal{1}, .after = {held}}));
      EXPECT_TRUE(eventually([&] { return batches() > before; }));
      return held;
    }
    /// Submits two tasks to device 1 while a batch waits there, so that passes over device 1 take
    /// place during the wait. Adds the tickets of the two tasks to `made`, because they end later.
    void let_pass(std::vector<ticket>& made) {
      for (int i = 0; i < 2; ++i) {
        std::uint64_t const before = rt.counters(rt.devices()[1]).batches;
        made.push_back(
            rt.submit(program.nothing.with_shape({1}, {1})(), {.device = device_ordinal{1}}));
        EXPECT_TRUE(eventually([&] { return rt.counters(rt.devices()[1]).batches > before; }));
      }
    }
    /// Makes one batch of device 1 wait for device 0, and then ends the wait.
    void wait_once() {
      held_word head{rt};
      ticket const made = launched_behind(head);
      head.release();
      rt.wait_idle();
    }
    /// Waits until all tasks are launched or have ended. @return false after a timeout.
    [[nodiscard]] bool launches(std::span<ticket const> tasks) const {
      dispatch::task_query const& query = inside(rt).query;
      return eventually([&] {
        return std::all_of(tasks.begin(), tasks.end(), [&](ticket const& task) {
          return query.was_launched(task.id()) || query.has_ended(task.id());
        });
      });
    }
    /// Runs `times` passes over both devices. They launch every task that may be launched.
    void pump(int times) {
      for (int i = 0; i < times; ++i) { rt.pump(); }
    }
    launch step(std::uint32_t link) {
      return program.step.with_shape({1}, {1})(value.data(), 3u, link);
    }
    /// Submits a task of the same kernel that writes the word `beside[at]` on device 1.
    ticket submit_beside(unsigned at, ticket const& predecessor) {
      return rt.submit(program.step.with_shape({1}, {1})(&beside[at], 0u, at),
                       {.device = device_ordinal{1}, .after = {predecessor}});
    }
  };
  /// Submits a chain of tasks. The first task runs on device `from`, the others run on the other
  /// device. The first task is held until it and two others are launched.
  static std::vector<ticket> chain(device_pair& pair, unsigned links, unsigned from) {
    // regression: with all tasks instead of these, the tests timed out on busy machines. There the
    // kernel may seem long, and of long kernels flotilla launches only two batches ahead.
    constexpr std::size_t always_launched = 3;
    held_word head{pair.rt};
    ticket const held =
        pair.rt.submit(head.launch_of(pair.program), {.device = device_ordinal{from}});
    std::vector<ticket> made;
    made.push_back(pair.rt.submit(pair.step(0), {.device = device_ordinal{from}, .after = {held}}));
    for (unsigned i = 1; i <= links; ++i) {
      made.push_back(pair.rt.submit(pair.step(i),
                                    {.device = device_ordinal{1 - from}, .after = {made.back()}}));
    }
    EXPECT_TRUE(pair.launches({made.data(), std::min(made.size(), always_launched)}));
    head.release();
    pair.rt.wait_idle();
    return made;
  }
  /// Computes from `value` the result of those tasks that ended without an error. Checks that no
  /// task ran after a failed task.
  static std::uint32_t expected(std::uint32_t value, std::vector<ticket> const& links) {
    bool failed = false;
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      try {
        links[i].wait();
        EXPECT_FALSE(failed) << "task " << i << " ran after a failed task";
        value = value * 3 + i;
      } catch (error const&) { failed = true; }
    }
    return value;
  }

 private:
  static dispatch::builtin_functions stand_ins(context::context_handle const& context) {
    dispatch::builtin_functions made;
    CUmodule module = nullptr;  // destroyed with the context
    driver::table const& api = context.api();
    EXPECT_EQ(api.module_load_data(&module, test_image().cpu), CUDA_SUCCESS);
    EXPECT_EQ(api.module_get_function(&made.completion, module, "write_number"), CUDA_SUCCESS);
    EXPECT_EQ(api.module_get_function(&made.spin, module, "await_number"), CUDA_SUCCESS);
    return made;
  }
  parallelism threads_{4};
};

// requirement: if a batch can wait on the device, no wait is enqueued into a stream. The tasks run
// in order.
TEST_F(DeviceSideWaits, SuccessorOfAnotherDeviceWaitsInItsBatch) {
  device_pair pair;
  testing::fail_call("cuStreamWaitValue64", 1, driver_status::not_supported);
  std::uint32_t value = pair.value[0];
  for (int round = 0; round < 50; ++round) {
    value = expected(value, chain(pair, 3, static_cast<unsigned>(round % 2)));
  }
  EXPECT_EQ(pair.value[0], value);
  EXPECT_EQ(
      pair.rt.counters(pair.rt.devices()[0]).failed + pair.rt.counters(pair.rt.devices()[1]).failed,
      0u)
      << "a wait was enqueued into a stream, and failed";
}

// requirement: while the maximum number of batches waits on the device, the next task is held back
// until one of these waits ends. Otherwise the task would wait in its stream, which is slower. A
// chain that is launched far ahead of the devices would then use only slow waits.
TEST_F(DeviceSideWaits, TaskIsKeptWhileOtherWaitsTurnOver) {
  constexpr unsigned tasks = 4;  // the first waits on the device, the others are held back
  device_pair pair{one_wait(60s)};
  pair.wait_once();
  std::uint32_t const made = pair.value[0];
  testing::fail_call("cuStreamWaitValue64", 1, driver_status::not_supported);
  held_word head{pair.rt};
  std::vector<ticket> behind, beside;
  ticket const held = pair.held_behind(head, behind);
  pair.let_pass(beside);
  for (unsigned i = 1; i < tasks; ++i) { behind.push_back(pair.submit_beside(i, held)); }
  pair.pump(1000);
  head.release();
  for (ticket const& each : behind) {
    EXPECT_NO_THROW(each.wait()) << "a wait was enqueued into a stream, and failed";
  }
  EXPECT_EQ(pair.value[0], made * 3 + 1);
  for (unsigned i = 1; i < tasks; ++i) { EXPECT_EQ(pair.beside[i], i); }
}

// requirement: even if no wait ends, a task is held back only briefly, because the predecessors may
// run for a long time.
TEST_F(DeviceSideWaits, TaskIsNotKeptIfNoWaitEnds) {
  constexpr unsigned tasks = 4;
  device_pair pair{one_wait(1ms)};
  pair.wait_once();
  held_word head{pair.rt};
  auto const batches = [&] { return pair.rt.counters(pair.rt.devices()[1]).batches; };
  std::uint64_t const before = batches();
  std::vector<ticket> behind;
  ticket const held = pair.held_behind(head, behind);
  for (unsigned i = 1; i < tasks; ++i) { behind.push_back(pair.submit_beside(i, held)); }
  EXPECT_TRUE(eventually([&] { return batches() == before + tasks; }))
      << "tasks were held back too long";
  head.release();
  for (ticket const& each : behind) { each.wait(); }
}

// requirement: tasks run in order even if the driver refuses a graph, a launch or an update of a
// node
TEST_F(DeviceSideWaits, OrderIsKeptIfTheDriverRefuses) {
  device_pair pair;
  std::uint32_t value = pair.value[0];
  for (char const* const call :
       {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams", "cuGraphInstantiateWithFlags"}) {
    for (unsigned at = 1; at <= 12; ++at) {
      testing::fail_call(call, at, driver_status::launch_out_of_resources);
      value = expected(value, chain(pair, 3, at % 2));
      ASSERT_EQ(pair.value[0], value) << call << " at " << at;
      testing::clear_faults();
    }
  }
}

// requirement: the first callable of a device runs only after the waiting batches of the device
// have ended, because user code may need the whole device
TEST_F(DeviceSideWaits, FirstCallableRunsAfterTheWaits) {
  device_pair pair;
  held_word head{pair.rt};
  ticket const behind = pair.launched_behind(head);
  std::atomic<bool> ran{false};
  ticket const callable =
      pair.rt.submit([&](task_context&) { ran = true; }, {.device = device_ordinal{1}});
  pair.pump(1000);
  EXPECT_FALSE(ran);
  head.release();
  callable.wait();
  EXPECT_TRUE(behind.ready());
}

// requirement: the first callable waits at most one second for the waiting batches, because these
// batches may depend on the callable
TEST_F(DeviceSideWaits, FirstCallableWaitsASecondAtMost) {
  device_pair pair;
  held_word head{pair.rt};
  ticket const behind = pair.launched_behind(head);
  bool was_over = true;
  auto const begun = std::chrono::steady_clock::now();
  ticket const callable = pair.rt.submit(
      [&](task_context&) {
        was_over = behind.ready();
        head.release();
      },
      {.device = device_ordinal{1}});
  callable.wait();
  auto const took = std::chrono::steady_clock::now() - begun;
  EXPECT_FALSE(was_over) << "the callable ran while the batch still waited";
  EXPECT_GE(took, 1s);
  EXPECT_LT(took, test_timeout);
  behind.wait();
}

// regression: after the launch of a waiting batch, the lane's next open batch was empty but still
// marked as waiting. When it was flushed, a second wait was counted.
TEST_F(DeviceSideWaits, EndedWaitsAreCountedOnce) {
  device_pair pair;
  for (int round = 0; round < 20; ++round) {
    held_word head{pair.rt};
    // This launch leaves the lane's open batch empty.
    ticket const there = pair.launched_behind(head);
    ticket const next =
        pair.rt.submit(pair.step(2), {.device = device_ordinal{1}, .after = {there}});
    EXPECT_TRUE(pair.launches({&next, 1}));
    head.release();
    next.wait();
  }
  pair.rt.wait_idle();
  auto const begun = std::chrono::steady_clock::now();
  pair.rt.submit([](task_context&) {}, {.device = device_ordinal{1}}).wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 900ms)
      << "the callable waited for batches that had ended";
}

}  // namespace
}  // namespace flotilla::test
