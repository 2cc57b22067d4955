// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Conservation: every submitted task runs exactly once.

#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

/// Counts how often each task ran. A task is a kernel or a callable.
class run_counts {
 public:
  run_counts(runtime& rt, std::size_t ids) : by_kernels_{rt, ids}, by_callables_(ids) {
    std::fill(by_kernels_.begin(), by_kernels_.end(), 0u);
  }
  [[nodiscard]] std::uint32_t* kernels() { return by_kernels_.data(); }
  void called(std::size_t id) {
    // relaxed: the count is read only while the runtime is idle.
    by_callables_[id].fetch_add(1, std::memory_order_relaxed);
  }
  /// The number of tasks that did not run exactly once.
  [[nodiscard]] std::size_t wrong() const {
    std::size_t count = 0;
    for (std::size_t id = 0; id < by_callables_.size(); ++id) {
      count += by_kernels_[id] + by_callables_[id].load() != 1u;
    }
    return count;
  }

 private:
  host_buffer<std::uint32_t> by_kernels_;  // every device can write pinned memory
  std::vector<std::atomic<std::uint8_t>> by_callables_;
};

struct workload {
  int devices;
  int workers;
  int producers;
  std::size_t tasks;
};

/// Submits the tasks [first, last). They are launches or callables. Some name a device. Some have
/// earlier tasks of the same producer as predecessors.
void produce(runtime& rt, kernel<std::uint32_t*, std::uint32_t> const& count, run_counts& counts,
             std::size_t first, std::size_t last, unsigned seed) {
  std::minstd_rand random{seed};
  constexpr std::size_t remembered = 32;
  std::vector<ticket> latest(remembered);
  auto const devices = static_cast<unsigned>(rt.devices().size());
  for (std::size_t id = first; id < last; ++id) {
    task_options how;
    unsigned const place = random() % (devices + 1);
    if (place < devices) { how.device = device_ordinal{place}; }
    if (random() % 4 == 0) {
      for (unsigned i = random() % 6; i > 0; --i) {
        ticket const& before = latest[random() % remembered];
        if (before.valid()) { how.after.add(before); }
      }
    }
    how.batch = random() % 16 != 0;
    if (random() % 8 == 0) {
      latest[id % remembered] = rt.submit([&counts, id](task_context&) { counts.called(id); }, how);
    } else {
      latest[id % remembered] = rt.submit(
          count.with_shape({1}, {1})(counts.kernels(), static_cast<std::uint32_t>(id)), how);
    }
  }
}

std::string name_of(::testing::TestParamInfo<workload> const& info) {
  return "devices" + std::to_string(info.param.devices) + "_workers" +
         std::to_string(info.param.workers);
}

class Conservation : public guest_test, public ::testing::WithParamInterface<workload> {};
INSTANTIATE_TEST_SUITE_P(, Conservation,
                         ::testing::Values(workload{4, 2, 3, 1'000'000}, workload{2, 8, 4, 200'000},
                                           workload{1, 1, 2, 200'000}, workload{4, 0, 2, 200'000}),
                         name_of);

// stress: every task runs exactly once, and no task fails
TEST_P(Conservation, EveryTaskRunsExactlyOnce) {
  auto const& [devices, workers, producers, all] = GetParam();
  FLOTILLA_NEED_DEVICES(devices);
  std::size_t const tasks = scaled(all, 1000);
  runtime rt{{.devices = device_spec(devices), .workers = workers}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  run_counts counts{rt, tasks};
  {
    std::vector<std::jthread> team;
    for (int p = 0; p < producers; ++p) {
      std::size_t const first =
          tasks * static_cast<std::size_t>(p) / static_cast<std::size_t>(producers);
      std::size_t const last =
          tasks * static_cast<std::size_t>(p + 1) / static_cast<std::size_t>(producers);
      team.emplace_back([&, first, last, p] {
        produce(rt, count, counts, first, last, static_cast<unsigned>(p) + 1);
      });
    }
  }
  rt.wait_idle();
  EXPECT_EQ(counts.wrong(), 0u) << "each of the " << tasks << " tasks must run exactly once";
  std::uint64_t ended = 0, failed = 0;
  for (device const& each : rt.devices()) {
    ended += rt.counters(each).tasks;
    failed += rt.counters(each).failed;
  }
  EXPECT_EQ(ended, tasks);
  EXPECT_EQ(failed, 0u);
}

}  // namespace
}  // namespace flotilla::test
