// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Task priorities: urgent tasks start first, and each task runs once.

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Priority : public contract_test {};
FLOTILLA_CONTRACT(Priority);

// requirement: tasks that have not started start in the order of their priorities
TEST_P(Priority, CallablesBeginInOrderOfPriority) {
  latch held;
  std::atomic<bool> inside{false};
  std::thread holder{[&] {
    rt().submit(
            [&](task_context&) {
              inside = true;
              held.wait();
            },
            {.device = last()})
        .wait();
  }};
  std::vector<int> ran;
  {
    open_on_exit const opening{held};
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    for (int const priority : {0, -1, 3, -9, -3, 0, -1, -5, -3, 0}) {
      static_cast<void>(rt().submit(
          // No lock: callables of one device never run at the same time.
          [&ran, priority](task_context&) { ran.push_back(priority); },
          {.device = last(), .priority = priority}));
    }
  }
  holder.join();
  rt().wait_idle();
  ASSERT_EQ(ran.size(), 10u);
  EXPECT_EQ(std::min(ran[0], ran[1]), -9);
  EXPECT_EQ(std::max(ran[0], ran[1]), -5)
      << "priorities outside the driver's range must be clamped to the range";
  EXPECT_EQ((std::vector(ran.begin() + 2, ran.begin() + 6)), (std::vector{-3, -3, -1, -1}));
}

// requirement: the stream of a callable has the task's priority, clamped to the driver's range
TEST_P(Priority, CallablesStreamHasItsTasksPriority) {
  for (int const asked : {0, -1, -4, -5, -100, 7}) {
    int lowest = 1, highest = 1, seen = 1;
    rt().submit(
            [&](task_context& here) {
              ASSERT_EQ(driver_in_use().ctx_get_stream_priority_range(&lowest, &highest),
                        CUDA_SUCCESS);
              ASSERT_EQ(driver_in_use().stream_get_priority(here.stream(), &seen), CUDA_SUCCESS);
            },
            {.device = last(), .priority = asked})
        .wait();
    EXPECT_EQ(seen, std::clamp(asked, highest, lowest)) << asked;
  }
}

// requirement: a task never overtakes its predecessors, whatever its priority
TEST_P(Priority, ChainsKeepTheirOrderWhateverThePriority) {
  std::vector<device_word> values;
  for (device_ordinal const device : ordinals()) { values.emplace_back(rt(), device, 1); }
  std::array<std::uint32_t, 4> expected{1, 1, 1, 1};
  std::vector<ticket> before(values.size());
  for (std::uint32_t i = 0; i < 300; ++i) {
    std::size_t const chain = i % values.size();
    task_options how{.priority = -static_cast<int>(i * 7 % 6)};
    if (before[chain].valid()) { how.after = {before[chain]}; }
    before[chain] =
        rt().submit(program().step.with_shape({1}, {1})(values[chain].buffer(), 3u, i), how);
    expected[chain] = expected[chain] * 3 + i;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].read({before[i]}), expected[i]);
  }
}

// requirement: if many threads submit tasks of all priorities, each task runs once, whether or not
// it names a device
TEST_P(Priority, TasksOfAllPrioritiesRunOnce) {
  constexpr unsigned threads = 4;
  constexpr unsigned tasks_per_thread = 500;
  std::vector<device_buffer<std::uint32_t>> counters;
  for (device_ordinal const device : ordinals()) {
    counters.emplace_back(rt(), device, threads * tasks_per_thread);
    rt().submit(counters.back().fill(0)).wait();
  }
  auto const count = program().loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::atomic<unsigned> called{0};
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      for (unsigned i = 0; i < tasks_per_thread; ++i) {
        unsigned const id = thread * tasks_per_thread + i;
        int const priority = -static_cast<int>(id % 6);
        auto& target = counters[id % counters.size()];
        static_cast<void>(
            rt().submit(count.with_shape({1}, {1})(target, id), {.priority = priority}));
        if (i % 10 == 0) {
          static_cast<void>(rt().submit([&](task_context&) { ++called; }, {.priority = priority}));
        }
      }
    });
  }
  for (std::thread& each : all) { each.join(); }
  rt().wait_idle();
  EXPECT_EQ(called, threads * tasks_per_thread / 10);
  for (std::size_t d = 0; d < counters.size(); ++d) {
    std::vector<std::uint32_t> ran(counters[d].size());
    rt().submit(counters[d].copy_to(ran)).wait();
    for (std::size_t id = 0; id < ran.size(); ++id) {
      ASSERT_EQ(ran[id], id % counters.size() == d ? 1u : 0u) << id;
    }
  }
}

}  // namespace
}  // namespace flotilla::test
