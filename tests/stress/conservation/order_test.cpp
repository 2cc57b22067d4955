// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Every task runs exactly once and after its predecessors. 16 threads submit to up to four devices,
// and each task has up to four predecessors on any device. FLOTILLA_TEST_TASKS sets the number of
// tasks. Before a release the test runs with ten million tasks.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <test_conservation_kernels.hpp>

#include "producer.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

std::size_t tasks_wanted() {
  char const* const text = std::getenv("FLOTILLA_TEST_TASKS");
  if (text == nullptr || *text == '\0') { return scaled(200'000, 10'000); }
  std::size_t const tasks = std::stoul(text);
  if (tasks == 0) {
    throw std::runtime_error{
        "the environment variable FLOTILLA_TEST_TASKS must be greater than 0, but is 0"};
  }
  return tasks;
}

device_counters all_counters(runtime const& rt) {
  device_counters sum;
  for (device const& each : rt.devices()) {
    device_counters const counters = rt.counters(each);
    sum.tasks += counters.tasks;
    sum.failed += counters.failed;
  }
  return sum;
}

class OrderedConservation : public guest_test, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Callables, OrderedConservation, ::testing::Bool(), [](auto const& values) {
  return values.param ? "among_them" : "not_among_them";
});

// requirement, stress: every task runs exactly once and after its predecessors, with and without
// callables among the tasks
TEST_P(OrderedConservation, EveryTaskRunsOnceAndAfterItsPredecessors) {
  FLOTILLA_NEED_DEVICES(1);
  constexpr unsigned producers = 16;
  int const devices = std::min(4, devices_there());
  std::size_t const tasks = tasks_wanted();
  runtime rt{{.devices = device_spec(devices)}};
  cells counted{rt, tasks};
  host_buffer<std::uint32_t> violations{rt, 1};
  violations[0] = 0;
  run all{.rt = rt,
          .kernel = rt.load(test_conservation_kernels)
                        .kernel<std::uint32_t*, predecessor_cells, std::uint32_t*>("run_once"),
          .counted = counted,
          .violations = violations.data(),
          .callables = GetParam()};
  std::uint64_t const before = all_counters(rt).tasks;
  auto const begun = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> team;
    for (unsigned i = 0; i < producers; ++i) {
      team.emplace_back([&, i] {
        producer{all, i + 1}.produce(tasks * i / producers, tasks * (i + 1) / producers);
      });
    }
  }
  rt.wait_idle();
  double const seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  device_counters const counters = all_counters(rt);

  EXPECT_TRUE(pumping(rt, [&] { return all.continued == all.attached; }))
      << "a continuation did not run or received an error";
  std::vector<cells::miscount> const wrong = counted.wrong();
  EXPECT_EQ(wrong.size(), 0u) << "every task must run exactly once";
  for (std::size_t i = 0; i < wrong.size() && i < 10; ++i) {
    std::printf("task %zu ran %u times\n", wrong[i].task, wrong[i].times);
  }
  EXPECT_EQ(violations[0], 0u) << "a task ran before one of its predecessors";
  EXPECT_EQ(counters.tasks - before, tasks);
  EXPECT_EQ(counters.failed, 0u);
  EXPECT_EQ(all.failed, 0u);
  EXPECT_GT(all.checked, tasks / 4) << "the kernels must check enough predecessors";
  std::printf(
      "conservation: %zu tasks%s, %d %s devices, %.1f s, %u violations, %zu not run once, %zu "
      "orders "
      "checked\n",
      tasks, GetParam() ? "" : " without callables", devices, on_gpus() ? "cuda" : "cpu", seconds,
      violations[0], wrong.size(), all.checked.load());
}

}  // namespace
}  // namespace flotilla::test
