// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Waits of streams beside grids of several devices (joint_run).

#include <chrono>

#include "unit/dispatch/device/joint_run_fixture.hpp"

namespace flotilla::test {
namespace {

// requirement: if the driver refuses a task, the wait in the stream for it stops no run. The other
// devices do not know of this wait
TEST_F(JointRun, AWaitForARefusedTaskStopsNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_NEED_DEVICES(3);
  rows grid{8, {.devices = 2, .all_devices = 3}};
  held_word first{grid.rt}, second{grid.rt};
  host_buffer<std::uint32_t> other{grid.rt, 4};
  auto const copy = [&](unsigned to) {
    return grid.program.copy.with_shape({1}, {1})(other.data() + to, other.data() + 3);
  };
  auto const pump_for = [&](std::chrono::milliseconds time) {
    auto const until = std::chrono::steady_clock::now() + time;
    static_cast<void>(
        pumping(grid.rt, [until] { return std::chrono::steady_clock::now() > until; }));
  };
  for (int i = 0; i < 6; ++i) {
    grid.clear();
    grid.submit(20, 3);
    grid.finish();
  }
  grid.clear();
  // Two kernels on the third device. The first run follows one, and a task of the second device the
  // other.
  ticket const before_run =
      grid.rt.submit(first.launch_of(grid.program), {.device = device_ordinal{2}});
  EXPECT_TRUE(pumping(grid.rt, [&] { return first.started(); }));
  ticket const held = grid.rt.submit(second.launch_of(grid.program), {.device = device_ordinal{2}});
  ticket const beside =
      grid.rt.submit(copy(0), {.device = device_ordinal{1}, .after = {held}, .batch = false});
  pump_for(std::chrono::milliseconds{1});
  grid.submit(6, 2, &before_run);
  pump_for(std::chrono::milliseconds{2});
  // It follows the run and that task, and the driver refuses it behind the wait.
  testing::fail_call("cuLaunchKernel", 1, driver_status::launch_out_of_resources);
  testing::fail_call("cuLaunchKernelEx", 1, driver_status::launch_out_of_resources);
  ticket const refused = grid.rt.submit(
      copy(1),
      {.device = device_ordinal{0}, .after = {grid.tickets.back()[0], beside}, .batch = false});
  pump_for(std::chrono::milliseconds{1});
  testing::clear_faults();
  grid.submit(6, 2);
  pump_for(std::chrono::milliseconds{3});
  first.release();
  pump_for(std::chrono::milliseconds{20});
  second.release();
  EXPECT_TRUE(pumping(grid.rt, [&] { return grid.tickets.back()[0].ready(); }));
  grid.finish();
  EXPECT_EQ(grid.last_row(), grid.expected());
  EXPECT_THROW(refused.wait(), error);
  beside.wait();
}

// regression: before its first run, the thread that drove the devices waited until a busy device
// had cleared the words of the run
TEST_F(JointRun, ABusyDeviceHoldsUpNoThread) {
  rows grid{8};
  held_word held{grid.rt};
  ticket const busy = grid.rt.submit(held.launch_of(grid.program), {.device = device_ordinal{1}});
  ASSERT_TRUE(pumping(grid.rt, [&] { return held.started(); }));
  {
    release_after const limit{held, std::chrono::seconds{10}};
    grid.submit(6, 2);
    EXPECT_TRUE(pumping(grid.rt, [&] { return grid.tickets[0][0].ready(); }));
    EXPECT_FALSE(limit.is_late());
  }
  held.release();
  EXPECT_TRUE(grid.finish());
  EXPECT_EQ(grid.last_row(), grid.expected());
}

}  // namespace
}  // namespace flotilla::test
