// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Device-side waits on CPU devices.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "unit/dispatch/device/device_side_waits_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

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

// requirement: the setting "device_side_waits" of a device lets only its streams wait
TEST_F(DeviceSideWaits, TheSettingTurnsThemOff) {
  for (auto const& [text, waits_on_device] :
       {std::pair{"", true}, std::pair{"device_side_waits=true", true},
        std::pair{"device_side_waits=false", false}, std::pair{"0:device_side_waits=false", true},
        std::pair{"1:device_side_waits=false", false}}) {
    SCOPED_TRACE(text);
    device_pair pair{many_waits(), text};
    held_word head{pair.rt};
    ticket const behind = pair.launched_behind(head);
    // Before, the thread that launches the task may still change what this thread reads below.
    EXPECT_TRUE(pair.launches({&behind, 1}));
    EXPECT_EQ(inside(pair.rt).devices[1].lanes().batches_waiting_on_device() != 0, waits_on_device);
    head.release();
    behind.wait();
  }
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

// requirement: in a joint pass, the batches of one lane wait on the device however many of them are
// launched. If their stream waited for some of them, the wait would be slow, and the devices would
// never catch up with a host that is ahead.
TEST_F(DeviceSideWaits, BatchesOfAJointPassWaitOnTheDevice) {
  constexpr unsigned width = 8;
  constexpr unsigned steps = 12;
  // This thread drives both devices, when all tasks are submitted.
  runtime rt{make_runtime({.devices = "cpu:2", .workers = 0}, many_waits())};
  test_program const program{rt};
  host_buffer<std::uint32_t> words{rt, width};
  testing::fail_call("cuStreamWaitValue64", 1, driver_status::not_supported);
  std::vector<ticket> tickets;
  for (unsigned task = 0; task < width * steps; ++task) {
    unsigned const point = task % width;
    task_options how{.device = device_ordinal{point * 2 / width}};
    for (unsigned near = point == 0 ? 0 : point - 1;
         task >= width && near < std::min(point + 2, width); ++near) {
      how.after.add(tickets[task - point - width + near]);
    }
    tickets.push_back(
        rt.submit(program.step.with_shape({1}, {1})(words.data() + point, 3u, task), how));
  }
  for (ticket const& each : tickets) {
    EXPECT_NO_THROW(each.wait()) << "a wait was enqueued into a stream, and failed";
  }
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
