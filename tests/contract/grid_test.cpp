// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Batches that are one grid of a kernel's twin.

#include <algorithm>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/batch_fixture.hpp"

namespace flotilla::test {
namespace {

class Grids : public batch_test {
 protected:
  static runtime_options options() {
    return {.devices = device_spec(1), .workers = 0, .fuse_launches = true};
  }
  static std::uint64_t batches(runtime& rt) { return rt.counters(device_ordinal{0}).batches; }
};

// requirement: each task of a grid runs once, whatever the size of the grid
TEST_F(Grids, GridsOfEverySizeRunEachTaskOnce) {
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  constexpr unsigned most = 600;  // more than two grids
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, most};
  device_buffer<std::uint32_t> few{rt, device_ordinal{0}, tasks};
  grow_batches(rt, count, few);
  for (unsigned size : {1u, 2u, 3u, 63u, 64u, 65u, 255u, 256u, 257u, 511u, 600u}) {
    rt.submit(counters.fill(0)).wait();
    for (unsigned i = 0; i < size; ++i) { rt.post(count.with_shape({1}, {1})(counters, i)); }
    rt.wait_idle();
    std::vector<std::uint32_t> expected(most, 0);
    std::fill_n(expected.begin(), size, 1u);
    ASSERT_EQ(read(rt, counters), expected) << size;
  }
}

// requirement: 200 launches of one kernel are few grids, and without twins they are more batches
TEST_F(Grids, OneGridCarriesMoreTasksThanAGraph) {
  for (bool const fuse : {false, true}) {
    runtime_options chosen = options();
    chosen.fuse_launches = fuse;
    runtime rt{chosen};
    program const loaded = rt.load(test_image());
    auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
    device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
    grow_batches(rt, count, counters);
    auto const again = [&] { static_cast<void>(run(rt, count, counters)); };
    if (fuse) {
      EXPECT_TRUE(needs_few_batches(rt, 2, again));
    } else {
      std::uint64_t const before = batches(rt);
      again();
      EXPECT_GT(batches(rt) - before, 2u);
    }
  }
}

// requirement: launches that differ in block size or in kernel are not in one grid, and lose
// nothing
TEST_F(Grids, OtherFormsGoIntoOtherGrids) {
  runtime rt{options()};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
  grow_batches(rt, count, counters);
  device_buffer<std::uint32_t> sums{rt, device_ordinal{0}, 2};
  rt.submit(counters.fill(0)).wait();
  rt.submit(sums.fill(0)).wait();
  for (int repeat = 0; repeat < 4; ++repeat) {
    for (unsigned i = 0; i < tasks; ++i) {
      rt.post(count.with_shape({1}, {1})(counters, i));
      rt.post(program.add.with_shape({i % 3 + 1}, {1})(sums.subspan(0, 1), 1u));
      rt.post(program.add.with_shape({1}, {i % 2 + 1})(sums.subspan(1, 1), 1u));
      rt.post(program.nothing.with_shape({1}, {32}, i % 2 * 64)());
    }
    rt.wait_idle();
  }
  EXPECT_EQ(read(rt, counters), std::vector<std::uint32_t>(tasks, 4));
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  for (unsigned i = 0; i < tasks; ++i) {
    blocks += 4 * (i % 3 + 1);
    threads += 4 * (i % 2 + 1);
  }
  EXPECT_EQ(read(rt, sums), (std::vector<std::uint32_t>{blocks, threads}));
}

// requirement: tasks with many blocks, of equal and of different sizes, run each block once
TEST_F(Grids, TasksOfManyBlocksRunEachBlockOnce) {
  runtime rt{options()};
  test_program const program{rt};
  device_buffer<std::uint32_t> sums{rt, device_ordinal{0}, tasks};
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (bool const equal : {true, false}) {
      rt.submit(sums.fill(0)).wait();
      std::vector<std::uint32_t> expected;
      for (unsigned i = 0; i < tasks; ++i) {
        unsigned const blocks = equal ? 32 : 1 + i % 64;
        rt.post(program.add.with_shape({blocks}, {1})(sums.subspan(i, 1), 1u));
        expected.push_back(blocks);
      }
      rt.wait_idle();
      ASSERT_EQ(read(rt, sums), expected) << repeat << ' ' << equal;
    }
  }
}

// requirement: a grid begins after all predecessors of its tasks
TEST_F(Grids, TasksOfAGridSeeTheirPredecessors) {
  runtime rt{options()};
  test_program const program{rt};
  constexpr unsigned width = 100;
  constexpr unsigned steps = 30;
  device_buffer<std::uint32_t> values{rt, device_ordinal{0}, width * (steps + 1)};
  rt.submit(values.fill(1)).wait();
  std::vector<ticket> last(width);
  for (unsigned step = 1; step <= steps; ++step) {
    std::vector<ticket> next(width);
    for (unsigned i = 0; i < width; ++i) {
      // The value of the left neighbour in the step before.
      unsigned const from = (i + width - 1) % width;
      task_options how;
      if (step != 1) { how.after = {last[i], last[from]}; }
      auto const at = [&](unsigned s, unsigned k) { return values.subspan(s * width + k, 1); };
      next[i] = rt.submit(program.copy.with_shape({1}, {1})(at(step, i), at(step - 1, from)), how);
    }
    if (step == 1) { rt.submit(values.subspan(0, 1).fill(7), {.after = {next[1]}}).wait(); }
    last = std::move(next);
  }
  rt.wait_idle();
  std::vector<std::uint32_t> const all = read(rt, values);
  for (unsigned i = width; i < all.size(); ++i) { ASSERT_EQ(all[i], 1u) << i; }
}

// requirement: if the driver refuses a grid, each of its tasks is launched alone
TEST_F(Grids, RefusedGridLosesAndRepeatsNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (char const* const call : {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams",
                                 "cuGraphInstantiateWithFlags", "cuGraphCreate"}) {
    runtime rt{options()};
    program const loaded = rt.load(test_image());
    auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
    device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
    grow_batches(rt, count, counters);
    for (unsigned nth = 1; nth < 4; ++nth) {
      rt.submit(counters.fill(0)).wait();
      testing::fail_call(call, nth, driver_status::launch_out_of_resources);
      std::vector<bool> const failed = run(rt, count, counters);
      testing::clear_faults();
      EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 0) << call << ' ' << nth;
      EXPECT_EQ(read(rt, counters), std::vector<std::uint32_t>(tasks, 1)) << call << ' ' << nth;
    }
  }
}

}  // namespace
}  // namespace flotilla::test
