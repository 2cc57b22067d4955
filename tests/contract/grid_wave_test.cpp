// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks with predecessors in grids: each step is a wave, and several waves are one graph.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/batch_fixture.hpp"

namespace flotilla::test {
namespace {

class GridWaves : public batch_test {
 protected:
  static constexpr unsigned width = 20;

  // If tasks of two steps were in one grid, the later ones would run first.
  void SetUp() override {
    batch_test::SetUp();
    if (!on_gpus()) { testing::reverse_blocks(testing::cpu_device{0}); }
  }
  void TearDown() override {
    testing::clear_faults();
    batch_test::TearDown();
  }

  static runtime_options options() {
    return {.devices = device_spec(1), .workers = 0, .fuse_launches = true};
  }
  static std::uint64_t batches(runtime& rt) { return rt.counters(device_ordinal{0}).batches; }

  /// The values of `width` points. In each step, a point becomes 3 times its value plus a number
  /// that depends on the step. Each task runs after the tasks of its neighbors in the step before.
  struct points {
    runtime rt;
    test_program program{rt};
    device_buffer<std::uint32_t> values{rt, device_ordinal{0}, width};
    std::vector<std::uint32_t> expected = std::vector<std::uint32_t>(width, 1);
    std::vector<ticket> last = std::vector<ticket>(width);
    std::uint32_t steps = 0;

    explicit points(runtime_options const& chosen = options()) : rt{chosen} {
      rt.submit(values.fill(1)).wait();
      for (int i = 0; i < 40; ++i) { run(1); }  // so that the duration of the kernel is known
    }
    /// Submits `count` steps. `vary(how, i)` may change the options of the task of point `i`.
    template <class Vary = decltype([](task_options&, unsigned) {})>
    void submit(unsigned count, Vary const& vary = {}) {
      for (unsigned step = 0; step < count; ++step) {
        ++steps;
        std::vector<ticket> next(width);
        for (unsigned i = 0; i < width; ++i) {
          task_options how;
          for (unsigned const each : {i + width - 1, i, i + 1}) {
            if (last[each % width].valid()) { how.after.add(last[each % width]); }
          }
          vary(how, i);
          next[i] = rt.submit(
              program.step.with_shape({1}, {1})(values.subspan(i, 1), 3u, steps + i), how);
          expected[i] = expected[i] * 3 + steps + i;
        }
        last = std::move(next);
      }
    }
    void run(unsigned count) {
      submit(count);
      for (ticket const& each : last) { each.wait(); }
      last = std::vector<ticket>(width);
    }
    [[nodiscard]] std::vector<std::uint32_t> read() { return batch_test::read(rt, values); }
  };
};

// requirement: dependent steps run in their order, and many steps are one launch
TEST_F(GridWaves, StepsOfOneKernelShareGraphs) {
  points grid;
  EXPECT_TRUE(needs_few_batches(grid.rt, 4, [&] { grid.run(10); }))
      << "10 waves of " << width << " tasks";
  EXPECT_EQ(grid.read(), grid.expected);
}

// requirement: steps of more waves and tasks than one graph may have keep their order
TEST_F(GridWaves, ManyStepsKeepTheirOrder) {
  points grid;
  for (unsigned const steps : {1u, 2u, 15u, 16u, 17u, 33u, 100u}) {
    grid.run(steps);
    ASSERT_EQ(grid.read(), grid.expected) << steps;
  }
}

// requirement: tasks of different kernels and shapes in one step run in the order of the steps
TEST_F(GridWaves, StepsOfSeveralKernelsKeepTheirOrder) {
  points grid;
  device_buffer<std::uint32_t> counts{grid.rt, device_ordinal{0}, width};
  grid.rt.submit(counts.fill(0)).wait();
  auto const count = grid.program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::uint32_t repeats = 0;
  for (unsigned const steps : {1u, 4u, 16u, 40u}) {
    std::vector<ticket> beside;
    for (unsigned step = 0; step < steps; ++step) {
      grid.submit(1);
      // These tasks are in the wave of the next step. They add up to `repeats` threads.
      for (unsigned i = 0; i < width; ++i) {
        beside.push_back(grid.rt.submit(count.with_shape({1}, {i % 3 + 1})(counts, i),
                                        {.after = {grid.last[i]}}));
      }
      ++repeats;
    }
    for (ticket const& each : beside) { each.wait(); }
    grid.run(1);
    ASSERT_EQ(grid.read(), grid.expected) << steps;
    std::vector<std::uint32_t> expected(width);
    for (unsigned i = 0; i < width; ++i) { expected[i] = repeats * (i % 3 + 1); }
    ASSERT_EQ(read(grid.rt, counts), expected) << steps;
  }
}

// requirement: tasks of one kernel and shape that differ in their options run in the order of the
// steps. Most of them join a step without a look at what decided about its first task
TEST_F(GridWaves, TasksWithOtherOptionsKeepTheirOrder) {
  points grid;
  // The points differ from step to step, so that the predecessors of these tasks join a step.
  auto const is_other = [&](unsigned i) { return (i + 3 * grid.steps) % 7 == 0; };
  for (unsigned const steps : {1u, 4u, 40u}) {
    grid.submit(steps, [&](task_options& how, unsigned i) {
      if (is_other(i)) { how.label = "labelled"; }
    });
    grid.run(1);
    std::uint64_t before = batches(grid.rt);
    grid.submit(steps, [&](task_options& how, unsigned i) { how.priority = is_other(i) ? -1 : 0; });
    grid.run(1);
    // The urgent tasks of a step need a stream of their own, and the next step waits for it.
    EXPECT_GE(batches(grid.rt) - before, 2 * steps) << "an urgent task joined others";
    before = batches(grid.rt);
    grid.submit(steps, [&](task_options& how, unsigned i) { how.batch = !is_other(i); });
    grid.run(1);
    EXPECT_GE(batches(grid.rt) - before, steps * (width / 7)) << "some were not launched alone";
    ASSERT_EQ(grid.read(), grid.expected) << steps;
  }
}

// requirement: tasks whose predecessors are in several waves run after all of them
TEST_F(GridWaves, PredecessorsOfSeveralStepsComeFirst) {
  points grid;
  std::vector<task_id> older, last;  // the tasks of the last two steps
  for (unsigned step = 0; step < 100; ++step) {
    grid.submit(1, [&](task_options& how, unsigned i) {
      for (unsigned const each : {i + width - 1, i, i + 1}) {
        if (!older.empty()) { how.after.add(older[each % width]); }
      }
    });
    older = std::exchange(last, {});
    for (ticket const& each : grid.last) { last.push_back(each.id()); }
  }
  grid.run(1);
  EXPECT_EQ(grid.read(), grid.expected);
}

// requirement: if the driver refuses a graph of several waves, each task still runs once, after its
// predecessors
TEST_F(GridWaves, RefusedGraphsLoseAndRepeatNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (char const* const call : {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams",
                                 "cuGraphInstantiateWithFlags", "cuGraphAddKernelNode"}) {
    for (unsigned nth = 1; nth < 12; nth += 2) {
      points grid;
      testing::fail_call(call, nth, driver_status::launch_out_of_resources);
      grid.submit(12);
      for (ticket const& each : grid.last) { each.wait(); }
      testing::clear_faults();
      EXPECT_EQ(grid.read(), grid.expected) << call << ' ' << nth;
    }
  }
}

// requirement: a task that is cancelled in a later wave ends, with its successors, and the others
// run
TEST_F(GridWaves, CancelledTaskEndsItsSuccessorsOnly) {
  points grid;
  auto const count = grid.program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counts{grid.rt, device_ordinal{0}, width};
  grid.rt.submit(counts.fill(0)).wait();
  for (int i = 0; i < 40; ++i) { grid.rt.submit(count.with_shape({1}, {1})(counts, 0u)).wait(); }
  grid.rt.submit(counts.fill(0)).wait();
  grid.submit(2);
  std::vector<ticket> behind, last;
  for (unsigned i = 0; i < width; ++i) {
    behind.push_back(
        grid.rt.submit(count.with_shape({1}, {1})(counts, i), {.after = {grid.last[i]}}));
    last.push_back(
        grid.rt.submit(count.with_shape({1}, {1})(counts, i), {.after = {behind.back()}}));
  }
  behind[3].cancel();
  grid.rt.wait_idle();
  EXPECT_THROW(behind[3].wait(), task_cancelled);
  EXPECT_THROW(last[3].wait(), dependency_failed);
  EXPECT_EQ(grid.read(), grid.expected);
  std::vector<std::uint32_t> expected(width, 2);
  expected[3] = 0;
  EXPECT_EQ(read(grid.rt, counts), expected);
}

}  // namespace
}  // namespace flotilla::test
