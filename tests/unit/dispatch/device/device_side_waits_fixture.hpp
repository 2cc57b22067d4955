// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pair of CPU devices with device-side waits. flotilla uses device-side waits only on GPUs, so
// test kernels replace flotilla's built-in kernels here. A CPU device runs one kernel at a time, so
// a waiting kernel blocks its device. So a chain that leaves a device and later returns to it could
// block itself. These tests contain no such chain.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
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

using namespace std::chrono_literals;

class DeviceSideWaits : public guest_test {
 protected:
  // regression: on a busy machine, a measured kernel seemed to take milliseconds, and of such
  // kernels fewer batches wait on the device and are launched ahead.
  static constexpr float kernel_ns = 2000;

  ~DeviceSideWaits() override { testing::clear_faults(); }

  /// Allows as many device-side waits as possible.
  static dispatch::tuning many_waits() {
    return {
        .multiprocessors_per_device_wait = 1, .kernel_ns = kernel_ns, .cpu_builtins = stand_ins};
  }
  /// Allows one device-side wait at a time.
  static dispatch::tuning one_wait(std::chrono::microseconds turnover) {
    runtime const probe{{.devices = "cpu:2"}};
    return {.multiprocessors_per_device_wait =
                static_cast<unsigned>(probe.devices()[1].multiprocessors),
            .device_wait_turnover = turnover,
            .kernel_ns = kernel_ns,
            .cpu_builtins = stand_ins};
  }

  /// A runtime with two devices.
  struct device_pair {
    runtime rt;
    test_program program{rt};
    host_buffer<std::uint32_t> value{rt, 1};
    host_buffer<std::uint32_t> beside{rt, 4};  // for tasks without an order between them

    explicit device_pair(dispatch::tuning const& tuned = many_waits(),
                         char const* settings_text = "")
        : rt{make_runtime(
              {.devices = "cpu:2", .workers = 2, .settings = settings::parse(settings_text)},
              tuned)} {
      value[0] = 1;
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
  /// device. The first task is held until all are launched.
  static std::vector<ticket> chain(device_pair& pair, unsigned links, unsigned from) {
    held_word head{pair.rt};
    ticket const held =
        pair.rt.submit(head.launch_of(pair.program), {.device = device_ordinal{from}});
    std::vector<ticket> made;
    made.push_back(pair.rt.submit(pair.step(0), {.device = device_ordinal{from}, .after = {held}}));
    for (unsigned i = 1; i <= links; ++i) {
      made.push_back(pair.rt.submit(pair.step(i),
                                    {.device = device_ordinal{1 - from}, .after = {made.back()}}));
    }
    EXPECT_TRUE(pair.launches(made));
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

}  // namespace flotilla::test
