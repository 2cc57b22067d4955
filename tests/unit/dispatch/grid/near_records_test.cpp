// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Grids whose records are first copied into the memory of the device. A test kernel of a CPU device
// copies the records.

#include "dispatch/grid/near_records.hpp"

#include <array>
#include <vector>

#include "unit/dispatch/device/kernel_copies_fixture.hpp"

namespace flotilla::test {
namespace {

class NearRecords : public kernel_copies_test {
 protected:
  /// Launches tasks that add up their blocks. The number of blocks is 1 to 64, or `blocks` if it is
  /// not 0. Checks the sums.
  static void add_up(runtime& rt, test_program const& program, unsigned blocks) {
    constexpr unsigned tasks = 100;
    device_buffer<std::uint32_t> sums{rt, device, tasks};
    rt.submit(sums.fill(0)).wait();
    std::vector<std::uint32_t> expected;
    for (unsigned i = 0; i < tasks; ++i) {
      unsigned const own = blocks != 0 ? blocks : 1 + i % 64;
      rt.post(program.add.with_shape({own}, {1})(sums.subspan(i, 1), 1u));
      expected.push_back(own);
    }
    rt.wait_idle();
    std::vector<std::uint32_t> found(tasks);
    rt.submit(sums.copy_to(found)).wait();
    EXPECT_EQ(found, expected) << blocks;
  }
};

// requirement: each block runs once, whether its record is read in place or from the copy, also
// when the memory of the copy is used again
TEST_F(NearRecords, EachBlockRunsOnce) {
  runtime rt = make();
  test_program const program{rt};
  for (int repeat = 0; repeat < 4; ++repeat) {
    for (unsigned const blocks : {0u, 1u, 32u, 64u}) { add_up(rt, program, blocks); }
  }
}

// requirement: without memory for the copies, the grids read the records in place
TEST_F(NearRecords, ACopyIsNotNecessary) {
  runtime rt = make();
  test_program const program{rt};
  add_up(rt, program, 1);  // the kernel is measured now
  testing::fail_call("cuMemAllocAsync", 2, driver_status::out_of_memory);  // the first is `sums`
  add_up(rt, program, 32);
  testing::clear_faults();
  EXPECT_EQ(rt.counters(device).failed, 0u);
}

// requirement: dependent steps of such tasks keep their order
TEST_F(NearRecords, StepsKeepTheirOrder) {
  runtime rt = make();
  test_program const program{rt};
  constexpr unsigned width = 40;
  device_buffer<std::uint32_t> sums{rt, device, width};
  rt.submit(sums.fill(0)).wait();
  std::vector<ticket> last(width);
  for (unsigned step = 0; step < 20; ++step) {
    for (unsigned i = 0; i < width; ++i) {
      task_options how;
      if (last[i].valid()) { how.after.add(last[i]); }
      last[i] = rt.submit(program.add.with_shape({40}, {1})(sums.subspan(i, 1), 1u), how);
    }
  }
  rt.wait_idle();
  std::vector<std::uint32_t> found(width);
  rt.submit(sums.copy_to(found)).wait();
  EXPECT_EQ(found, std::vector<std::uint32_t>(width, 20 * 40));
}

// regression: the thread that drove the device waited until the busy device had made the memory of
// the copies
TEST_F(NearRecords, ABusyDeviceHoldsUpNoThread) {
  runtime rt = make();
  test_program const program{rt};
  add_up(rt, program, 1);  // the kernel is measured now
  device_buffer<std::uint32_t> sums{rt, device, 100};
  rt.submit(sums.fill(0)).wait();
  held_word held{rt};
  ticket const busy = rt.submit(held.launch_of(program));
  ASSERT_TRUE(pumping(rt, [&] { return held.started(); }));
  {
    release_after const limit{held, std::chrono::seconds{10}};
    for (unsigned i = 0; i < 100; ++i) {
      rt.post(program.add.with_shape({32}, {1})(sums.subspan(i, 1), 1u));
    }
    for (int i = 0; i < 10; ++i) { static_cast<void>(rt.pump()); }
    EXPECT_FALSE(limit.is_late());
  }
  held.release();
  rt.wait_idle();
}

}  // namespace
}  // namespace flotilla::test
