// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A runtime whose devices live in worker processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "driver/cpu_devices.hpp"
#include "isolation/forwarding.hpp"
#include "isolation/owner/owner.hpp"
#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/eventually.hpp"
#include "support/thrown.hpp"
#include "unit/isolation/chain_over_devices.hpp"
#include "unit/isolation/worker_pid.hpp"

namespace flotilla::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Isolated : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { FLOTILLA_NEED_DEVICES(2); }
  static runtime_options options(int devices, int workers) {
    runtime_options made{.devices = device_spec(devices), .workers = workers};
    made.settings.all.isolation = isolation::process;
    return made;
  }
};

// stress: a flood from several threads; every task runs exactly once
TEST_P(Isolated, AFloodRunsEveryTaskOnce) {
  runtime rt{options(2, GetParam())};
  test_program const program{rt};
  constexpr std::uint32_t tasks = 10000;
  std::vector<device_word> words;
  words.reserve(2);
  for (device const& each : rt.devices()) { words.emplace_back(rt, each.ordinal); }
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < tasks; ++i) {
        rt.post(program.add.with_shape({1}, {1})(words[i % 2].buffer(), 1u));
      }
    });
  }
  for (auto& each : threads) { each.join(); }
  rt.wait_idle();
  EXPECT_EQ(words[0].read(), tasks);
  EXPECT_EQ(words[1].read(), tasks);
}

// regression: the error named another status, and not the call that was refused
TEST_P(Isolated, TheCallThatSharesMemoryIsNamed) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options(1, GetParam())};
  constexpr std::size_t bytes = std::size_t{256} << 20;
  testing::fail_call("cuMemExportToShareableHandle", 1, driver_status::not_permitted);
  EXPECT_THAT(thrown<driver_error>([&] {
                (device_buffer<std::byte>{rt, device_ordinal{0}, bytes});
              }),
              AllOf(HasSubstr("cuMemExportToShareableHandle"), HasSubstr("NOT_PERMITTED")));
  testing::clear_faults();
  EXPECT_EQ((device_buffer<std::byte>{rt, device_ordinal{0}, bytes}.size()), bytes);
}

// requirement: the order of a chain that alternates between two devices
TEST_P(Isolated, ChainsCrossDevices) {
  runtime rt{options(2, GetParam())};
  expect_chain_over_devices(rt);
}

// requirement: copies of pageable and pinned memory
TEST_P(Isolated, CopiesComeBack) {
  runtime rt{options(1, GetParam())};
  std::vector<std::uint32_t> values(1 << 20), back(1 << 20);
  std::iota(values.begin(), values.end(), 0u);
  device_buffer<std::uint32_t> memory{rt, {0}, values};
  rt.submit(memory.copy_to(back)).wait();
  EXPECT_EQ(values, back);
  host_buffer<std::uint32_t> pinned{rt, 1 << 20};
  rt.submit(memory.copy_to(pinned)).wait();
  EXPECT_TRUE(std::equal(values.begin(), values.end(), pinned.begin()));
}

// regression: every later runtime refused to start
TEST_P(Isolated, AWorkerMayEndWhileThereIsNoRuntime) {
  { runtime const rt{options(1, GetParam())}; }
  ::kill(worker_pid(), SIGKILL);
  ASSERT_TRUE(eventually([] { return isolated::owner::get().is_lost(0); }));
  runtime rt{options(1, GetParam())};
  test_program const program{rt};
  rt.submit(program.nothing.with_shape({1}, {1})()).wait();
}

// regression: the tasks of a device that was given up ended while its worker process still ran
TEST_P(Isolated, TasksOfAQuarantinedDeviceEndAfterItsWorker) {
  runtime_options with = options(1, GetParam());
  with.restart.intensity = 0;
  runtime rt{std::move(with)};
  test_program const program{rt};
  // The process needs time to end.
  device_buffer<std::uint32_t> memory{rt, {0}, std::size_t{64} << 20};
  rt.submit(memory.fill(1)).wait();
  pid_t const worker = worker_pid();
  isolated::owner::get().kill(0);
  EXPECT_THROW(rt.submit(program.add.with_shape({1}, {1})(memory, 1u)).wait(), device_fault);
  EXPECT_NE(::kill(worker, 0), 0) << "the process has not ended";
  EXPECT_EQ(health(rt, {0}), device_health::quarantined);
}

INSTANTIATE_TEST_SUITE_P(workers, Isolated, ::testing::Values(0, 2));

// requirement: what took effect is reported
TEST(IsolatedSettings, AreReported) {
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.isolation = isolation::process;
  runtime const rt{std::move(options)};
  EXPECT_EQ(rt.effective_settings({0}).isolation, isolation::process);
  EXPECT_EQ(rt.effective_settings({0}).spare, spare::none);
  runtime const usual{{.devices = device_spec(1)}};
  EXPECT_EQ(usual.effective_settings({0}).isolation, isolation::none);
}

// requirement: a worker program that cannot be used is named
TEST(IsolatedSettings, AWrongWorkerProgramIsNamed) {
  // In a process of its own, because a process has one worker program.
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime_options options{.devices = device_spec(1)};
    options.settings.all.isolation = isolation::process;
    options.worker_path = "/no/such/worker";
    EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{options}; }),
                HasSubstr("/no/such/worker"));
    options.worker_path = "/bin/true";
    EXPECT_THAT(thrown<driver_error>([&] { runtime const rt{options}; }),
                HasSubstr("which is isolated: "));
  });
}

// requirement
TEST(IsolatedSettings, NeedAnOwnedContext) {
  runtime_options options{.devices = device_spec(1)};
  options.settings.all.isolation = isolation::process;
  options.settings.all.context = context_source::primary();
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime const rt{options}; }),
              HasSubstr("'isolation' = process requires an owned context"));
}

}  // namespace
}  // namespace flotilla::test
