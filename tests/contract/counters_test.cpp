// The numbers that a runtime keeps.

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Counters : public contract_test {};
FLOTILLA_CONTRACT(Counters);

// requirement
TEST_P(Counters, CountTasksFailuresAndCallablesOfEachDevice) {
  (void)program();
  for (device_ordinal const device : ordinals()) {
    device_counters const before = rt().counters(device);
    for (int i = 0; i < 12; ++i) {
      (void)rt().submit(program().nothing.on({1}, {1})(), {.device = device});
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

// requirement
TEST_P(Counters, CountWhatWasPulled) {
  auto const sum = [&](std::uint64_t device_counters::*what) {
    std::uint64_t all = 0;
    for (device_ordinal const device : ordinals()) { all += rt().counters(device).*what; }
    return all;
  };
  for (int i = 0; i < 30; ++i) { (void)rt().submit(program().nothing.on({1}, {1})()); }
  rt().wait_idle();
  EXPECT_EQ(sum(&device_counters::pulled), device_count() == 1 ? 0u : 30u)
      << "the only device need not pull";
  EXPECT_EQ(sum(&device_counters::tasks), 30u);
}

// requirement: one push for many tasks; told where nobody but this thread drains
TEST_P(Counters, OnePumpLaunchesManyTasksUnderOnePush) {
  auto with = options();
  with.workers = 0;
  start(with);
  host_buffer<std::uint32_t> sum{rt(), 1};
  sum[0] = 0;
  launch const add_one = program().add.on({1}, {1})(sum.data(), 1u);
  std::uint64_t const before = rt().counters(first()).pushes;
  for (int i = 0; i < 1000; ++i) { (void)rt().submit(add_one, {.device = first()}); }
  EXPECT_EQ(rt().counters(first()).pushes, before) << "submit never launches";
  rt().pump();
  EXPECT_EQ(rt().counters(first()).pushes, before + 1);
  EXPECT_TRUE(eventually([&] { return std::atomic_ref{sum[0]}.load() >= 32; }))
      << "few were launched by it";
  rt().wait_idle();
  EXPECT_EQ(sum[0], 1000u);
}

// requirement: who only looks at counters sees every task counted, also when all others have left
TEST_P(Counters, AreBroughtUpToDateByWhoAsks) {
  runtime rt{options()};
  test_program const kernels{rt};
  ticket const done = rt.submit(kernels.nothing.on({1}, {1})(), {.device = device_ordinal{0}});
  EXPECT_TRUE(pumping(rt, [&] { return done.ready() || rt.counters(device_ordinal{0}).batches > 0; }));
  EXPECT_TRUE(eventually([&] { return rt.counters(device_ordinal{0}).tasks == 1; }));
}

// requirement: the lease taken by another thread than last time is a migration
TEST_P(Counters, CountMigrations) {
  rt().submit([](task_context&) {}, {.device = last()}).wait();
  std::uint64_t const before = rt().counters(last()).migrations;
  if (worker_count() != 0) {
    // Who drives is not ours to say: only that it never goes back.
    for (int i = 0; i < 5; ++i) {
      rt().submit([](task_context&) {}, {.device = last()}).wait();
    }
    EXPECT_GE(rt().counters(last()).migrations, before);
    return;
  }
  std::jthread{[&] { rt().submit([](task_context&) {}, {.device = last()}).wait(); }}.join();
  rt().submit([](task_context&) {}, {.device = last()}).wait();
  EXPECT_GE(rt().counters(last()).migrations - before, 2u);
  EXPECT_TRUE(rt().workers().empty()) << "there are none";
}

// requirement
TEST_P(Counters, WorkersDroveDevicesThatAreThere) {
  for (int i = 0; i < 200; ++i) { (void)rt().submit(program().nothing.on({1}, {1})()); }
  rt().wait_idle();
  for (worker_counters const& each : rt().workers()) {
    EXPECT_EQ(each.devices >> device_count(), 0u);
    EXPECT_EQ(each.drains == 0, each.devices == 0);
  }
}

}  // namespace
}  // namespace flotilla::test
