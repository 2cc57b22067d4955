// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The counters of a runtime.

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "support/contract_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Counters : public contract_test {};
FLOTILLA_CONTRACT(Counters);

// requirement
TEST_P(Counters, TasksFailuresAndCallablesAreCountedPerDevice) {
  (void)program();
  for (device_ordinal const device : ordinals()) {
    device_counters const before = rt().counters(device);
    for (int i = 0; i < 12; ++i) {
      (void)rt().submit(program().nothing.with_shape({1}, {1})(), {.device = device});
    }
    for (int i = 0; i < 5; ++i) {
      (void)rt().submit([](task_context&) {}, {.device = device});
    }
    for (int i = 0; i < 3; ++i) {
      (void)rt().submit([](task_context&) { throw std::runtime_error{"counted"}; },
                        {.device = device});
    }
    rt().wait_idle();
    device_counters const after = rt().counters(device);
    EXPECT_EQ(after.tasks - before.tasks, 20u);
    EXPECT_EQ(after.callables - before.callables, 8u);
    EXPECT_EQ(after.failed - before.failed, 3u);
    EXPECT_GE(after.batches - before.batches, 1u);
    EXPECT_LE(after.batches - before.batches, 12u);
    EXPECT_GE(after.pushes - before.pushes, 1u);
    EXPECT_EQ(after.pulled, before.pulled);
  }
}

// requirement: after wait_idle, all tasks are counted
TEST_P(Counters, AnIdleRuntimeHasCountedEveryTask) {
  launch const nothing = program().nothing.with_shape({1}, {1})();
  std::uint64_t const before = rt().counters(last()).tasks;
  for (std::uint64_t i = 1; i <= scaled(5000, 500); ++i) {
    rt().post(nothing, {.device = last()});
    rt().wait_idle();
    ASSERT_EQ(rt().counters(last()).tasks, before + i);
  }
}

// requirement
TEST_P(Counters, PulledTasksAreCounted) {
  auto const sum = [&](std::uint64_t device_counters::*counter) {
    std::uint64_t all = 0;
    for (device_ordinal const device : ordinals()) { all += rt().counters(device).*counter; }
    return all;
  };
  for (int i = 0; i < 30; ++i) { (void)rt().submit(program().nothing.with_shape({1}, {1})()); }
  rt().wait_idle();
  EXPECT_EQ(sum(&device_counters::pulled), device_count() == 1 ? 0u : 30u)
      << "tasks are pulled from the shared queue only if there are several devices";
  EXPECT_EQ(sum(&device_counters::tasks), 30u);
}

// requirement: a pass makes the context current once and then launches many tasks. The test has no
// workers, so only this thread launches
TEST_P(Counters, OnePumpLaunchesManyTasksUnderOnePush) {
  auto changed = options();
  changed.workers = 0;
  start(changed);
  host_buffer<std::uint32_t> sum{rt(), 1};
  sum[0] = 0;
  launch const add_one = program().add.with_shape({1}, {1})(sum.data(), 1u);
  std::uint64_t const before = rt().counters(first()).pushes;
  for (int i = 0; i < 1000; ++i) { (void)rt().submit(add_one, {.device = first()}); }
  EXPECT_EQ(rt().counters(first()).pushes, before) << "submit must not launch";
  rt().pump();
  EXPECT_EQ(rt().counters(first()).pushes, before + 1);
  EXPECT_TRUE(eventually([&] { return std::atomic_ref{sum[0]}.load() >= 32; }))
      << "one call of pump must launch at least 32 tasks";
  rt().wait_idle();
  EXPECT_EQ(sum[0], 1000u);
}

// requirement: the counters include every task that has ended, even if no thread drives the device
TEST_P(Counters, ReadingCountersCollectsEndedTasks) {
  runtime rt{options()};
  test_program const kernels{rt};
  ticket const done =
      rt.submit(kernels.nothing.with_shape({1}, {1})(), {.device = device_ordinal{0}});
  EXPECT_TRUE(
      pumping(rt, [&] { return done.ready() || rt.counters(device_ordinal{0}).batches > 0; }));
  EXPECT_TRUE(eventually([&] { return rt.counters(device_ordinal{0}).tasks == 1; }));
}

// requirement: the counter of migrations increases each time the lease passes from one thread to
// another thread
TEST_P(Counters, MigrationsAreCounted) {
  rt().submit([](task_context&) {}, {.device = last()}).wait();
  std::uint64_t const before = rt().counters(last()).migrations;
  if (worker_count() != 0) {
    // Any thread may drive the device, so the test only checks that the counter does not decrease.
    for (int i = 0; i < 5; ++i) {
      rt().submit([](task_context&) {}, {.device = last()}).wait();
    }
    EXPECT_GE(rt().counters(last()).migrations, before);
    return;
  }
  std::jthread{[&] { rt().submit([](task_context&) {}, {.device = last()}).wait(); }}.join();
  rt().submit([](task_context&) {}, {.device = last()}).wait();
  EXPECT_GE(rt().counters(last()).migrations - before, 2u);
  EXPECT_TRUE(rt().worker_counters().empty()) << "the runtime has no workers";
}

// requirement
TEST_P(Counters, WorkersDriveOnlyExistingDevices) {
  for (int i = 0; i < 200; ++i) { (void)rt().submit(program().nothing.with_shape({1}, {1})()); }
  rt().wait_idle();
  std::uint64_t tasks = 0;
  for (device_ordinal const device : ordinals()) { tasks += rt().counters(device).tasks; }
  EXPECT_EQ(tasks, 200u);
  auto const workers = rt().worker_counters();
  EXPECT_LE(workers.size(), static_cast<std::size_t>(worker_count()));
  for (worker_counters const& each : workers) {
    EXPECT_EQ(each.devices >> device_count(), 0u);
    EXPECT_EQ(each.drains == 0, each.devices == 0);
  }
}

}  // namespace
}  // namespace flotilla::test
