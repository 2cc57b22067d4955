// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Steps of dependent tasks as one grid, in which each task waits for its own predecessors.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class OrderedGrids : public guest_test {
 protected:
  static constexpr device_ordinal device{0};

  static runtime make(dispatch::order_use use, int workers = 0) {
    return make_runtime({.devices = device_spec(1), .workers = workers, .fuse_launches = true},
                        {.ordered_grids = use});
  }
  static dispatch::order_use use_of(bool ordered) {
    return ordered ? dispatch::order_use::always : dispatch::order_use::never;
  }

  /// Points whose tasks run after tasks of the step before. Task `i` of a step multiplies its
  /// value by 3, and adds the number of the step and `i`.
  struct points {
    unsigned width;
    runtime rt;
    test_program program{rt};
    device_buffer<std::uint32_t> values{rt, device, width};
    std::vector<std::uint32_t> expected = std::vector<std::uint32_t>(width, 1);
    std::vector<std::vector<ticket>> rows{};  // the tickets of the steps that are not finished
    std::uint32_t steps = 0;

    explicit points(unsigned count, bool ordered = true, int workers = 0)
        : points{count, use_of(ordered), workers} {}
    points(unsigned count, dispatch::order_use use, int workers = 0)
        : width{count}, rt{make(use, workers)} {
      rt.submit(values.fill(1)).wait();
      for (int i = 0; i < 40; ++i) { run(1, 3); }  // so that the duration of the kernel is known
    }
    /// Submits steps in which each task runs after `predecessors` neighbors.
    void submit(unsigned count, unsigned predecessors) {
      for (unsigned step = 0; step < count; ++step) {
        ++steps;
        std::vector<ticket> next(width);
        for (unsigned i = 0; i < width; ++i) {
          task_options how;
          for (unsigned k = 0; k < predecessors && !rows.empty(); ++k) {
            how.after.add(rows.back()[(i + width + k - predecessors / 2) % width]);
          }
          next[i] = rt.submit(
              program.step.with_shape({1}, {1})(values.subspan(i, 1), 3u, steps + i), how);
          expected[i] = expected[i] * 3 + steps + i;
        }
        rows.push_back(std::move(next));
      }
    }
    void finish() {
      for (ticket const& each : rows.back()) { each.wait(); }
      rows.clear();
    }
    void run(unsigned count, unsigned predecessors) {
      submit(count, predecessors);
      finish();
    }
    [[nodiscard]] std::vector<std::uint32_t> read() {
      std::vector<std::uint32_t> host(width);
      rt.submit(values.copy_to(host)).wait();
      return host;
    }
  };
};

// requirement: steps keep their order, for all numbers of steps and predecessors, also when the
// words and records are used again
TEST_F(OrderedGrids, StepsKeepTheirOrder) {
  for (unsigned const width : {2u, 20u, 64u}) {
    points grid{width};
    // With 64 predecessors, two steps have more edges than a grid may have.
    for (unsigned const predecessors : {1u, 2u, 3u, 7u, 64u}) {
      for (unsigned const steps : {1u, 2u, 15u, 16u, 17u, 33u, 60u}) {
        grid.run(steps, std::min(predecessors, width));
        ASSERT_EQ(grid.read(), grid.expected) << width << ' ' << predecessors << ' ' << steps;
      }
    }
  }
}

// requirement: the same with workers, and with tasks that have no predecessors in between
TEST_F(OrderedGrids, WorkersAndOtherTasksChangeNothing) {
  points grid{32, true, 2};
  device_buffer<std::uint32_t> sum{grid.rt, device, 1};
  grid.rt.submit(sum.fill(0)).wait();
  for (int repeat = 0; repeat < 20; ++repeat) {
    grid.submit(12, 3);
    for (int i = 0; i < 50; ++i) {
      grid.rt.post(grid.program.add.with_shape({1}, {1})(sum.data(), 1u));
    }
  }
  grid.finish();
  grid.rt.wait_idle();
  EXPECT_EQ(grid.read(), grid.expected);
  std::vector<std::uint32_t> host(1);
  grid.rt.submit(sum.copy_to(host)).wait();
  EXPECT_EQ(host[0], 1000u);
}

// requirement: tasks with different numbers of blocks and threads in one grid, and random
// predecessors of any step, give the same results as without ordered grids
TEST_F(OrderedGrids, ResultsAreTheSameAsWithout) {
  std::vector<std::vector<std::uint32_t>> results;
  for (bool const ordered : {true, false}) {
    points grid{24, ordered};
    device_buffer<std::uint32_t> sums{grid.rt, device, 24};
    grid.rt.submit(sums.fill(0)).wait();
    for (int i = 0; i < 20; ++i) {
      grid.rt.submit(grid.program.add.with_shape({1}, {4})(sums.data(), 0u)).wait();
    }
    std::mt19937 random{7};
    std::vector<ticket> all;
    for (unsigned step = 0; step < 40; ++step) {
      for (unsigned i = 0; i < 24; ++i) {
        unsigned const blocks = 1 + random() % 5;
        task_options how;
        // All tasks of an element run one after another.
        if (step != 0) { how.after.add(all[all.size() - 24]); }
        for (unsigned k = random() % 4; k != 0 && !all.empty(); --k) {
          how.after.add(all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 100)]);
        }
        all.push_back(grid.rt.submit(
            grid.program.add.with_shape({blocks}, {4})(sums.subspan(i, 1), step), how));
      }
      grid.submit(1, 3);
    }
    grid.rt.wait_idle();
    std::vector<std::uint32_t> host(24);
    grid.rt.submit(sums.copy_to(host)).wait();
    EXPECT_EQ(grid.read(), grid.expected);
    results.push_back(host);
  }
  EXPECT_EQ(results[0], results[1]);
}

// requirement: a cancelled task never enters a grid, and its successors do not run
TEST_F(OrderedGrids, CancelledTasksDoNotRun) {
  for (unsigned cancelled = 0; cancelled < 6; ++cancelled) {
    points grid{10};
    grid.submit(6, 1);
    auto const& steps = grid.rows;
    steps[cancelled][4].cancel();
    grid.rt.wait_idle();
    for (unsigned i = 0; i < 6; ++i) {
      steps[i][3].wait();
      if (i < cancelled) { steps[i][4].wait(); }
      if (i == cancelled) { EXPECT_THROW(steps[i][4].wait(), task_cancelled); }
      if (i > cancelled) { EXPECT_THROW(steps[i][4].wait(), dependency_failed); }
    }
    grid.expected[4] = 0;
    std::vector<std::uint32_t> found = grid.read();
    found[4] = 0;
    EXPECT_EQ(found, grid.expected) << cancelled;
  }
}

// requirement: if the driver refuses a call, each task still runs once, after its predecessors. The
// next grids use the words in their true state
TEST_F(OrderedGrids, RefusedCallsLoseAndRepeatNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (char const* const call :
       {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams", "cuGraphInstantiateWithFlags",
        "cuGraphAddKernelNode", "cuMemAllocAsync", "cuMemsetD8Async"}) {
    for (unsigned nth = 1; nth < 8; ++nth) {
      points grid{12};
      for (int repeat = 0; repeat < 2; ++repeat) {
        testing::fail_call(call, nth, driver_status::launch_out_of_resources);
        grid.run(12, 3);
        testing::clear_faults();
        EXPECT_EQ(grid.read(), grid.expected) << call << ' ' << nth;
      }
    }
  }
}

// requirement: tasks that are not in the grid can follow tasks of any of its steps
TEST_F(OrderedGrids, OtherTasksFollowAnyStep) {
  points grid{16};
  device_buffer<std::uint32_t> copies{grid.rt, device, 16};
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::vector<ticket> outside;
    std::vector<std::uint32_t> expected;
    for (unsigned step = 0; step < 16; ++step) {
      grid.submit(1, 3);
      ticket& of_point = grid.rows.back()[step];
      ticket copied = grid.rt.submit(
          grid.program.copy.with_shape({1}, {1})(copies.data() + step, grid.values.data() + step),
          {.after = {of_point}});
      outside.push_back(std::move(of_point));
      of_point = std::move(copied);  // the point must not change before it was copied
      expected.push_back(grid.expected[step]);
    }
    grid.finish();
    for (ticket const& each : outside) { each.wait(); }
    std::vector<std::uint32_t> host(16);
    grid.rt.submit(copies.copy_to(host)).wait();
    EXPECT_EQ(host, expected) << repeat;
  }
}

// requirement: after a fault in any step, all tasks of the grid that have not ended are suspects
TEST_F(OrderedGrids, TheSuspectsOfAFaultAreInAllSteps) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    points grid{4};
    testing::fault_kernel(testing::cpu_device{0}, 1, driver_status::illegal_address);
    grid.submit(3, 3);
    std::string text;
    try {
      grid.rows.back()[0].wait();
    } catch (std::exception const& why) { text = why.what(); }
    EXPECT_NE(text.find("12 tasks: "), std::string::npos) << text;
  });
}

// requirement: tasks are right whichever way the runtime tries
TEST_F(OrderedGrids, TheFasterWayIsFoundByTrying) {
  points grid{6, dispatch::order_use::if_faster};
  for (int i = 0; i < 40; ++i) { grid.run(8, 3); }
  EXPECT_EQ(grid.read(), grid.expected);
}

// requirement: another value of the environment variable is refused, and named
TEST_F(OrderedGrids, TheEnvironmentVariableIsChecked) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    for (char const* const wrong : {"", "on", "off", "8000", "if faster"}) {
      setenv("FLOTILLA_ORDERED_GRIDS", wrong, 1);
      try {
        runtime const rt{{.devices = device_spec(1), .workers = 0}};
        ADD_FAILURE() << wrong;
      } catch (unknown_setting const& why) {
        std::string const text = why.what();
        EXPECT_NE(text.find("FLOTILLA_ORDERED_GRIDS"), std::string::npos) << text;
        EXPECT_NE(text.find("'" + std::string{wrong} + "'"), std::string::npos) << text;
      }
    }
    for (char const* const right : {"never", "if_faster", "always"}) {
      setenv("FLOTILLA_ORDERED_GRIDS", right, 1);
      EXPECT_NO_THROW(runtime({.devices = device_spec(1), .workers = 0})) << right;
    }
  });
}

}  // namespace
}  // namespace flotilla::test
