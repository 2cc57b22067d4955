// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bursts of launches that often change their form: the kernel, the block or the shared memory. On
// GPUs, flotilla creates a device-updated template for one form, and destroys the template when
// other forms need its place. Few applications make flotilla destroy templates often. These tests
// do so all the time.

#include <algorithm>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

using count_threads = kernel<std::uint32_t*, std::uint32_t>;

/// Counters on one device and their expected values. Each launch has its own counter, in which it
/// counts its threads.
class expected_counts {
 public:
  expected_counts(runtime& rt, device_ordinal device, std::size_t count)
      : rt_{rt}, cells_{rt, device, count}, expected_(count) {
    rt_.submit(cells_.fill(0)).wait();
  }
  [[nodiscard]] std::size_t size() const { return expected_.size(); }
  [[nodiscard]] std::uint32_t* cells() { return cells_.data(); }
  void expect(std::size_t id, std::uint32_t threads) { expected_[id] = threads; }
  /// Adds a test failure for each wrong counter, but at most ten failures. @return the number of
  /// wrong counters.
  [[nodiscard]] std::size_t wrong() const {
    std::vector<std::uint32_t> seen(size());
    rt_.submit(cells_.copy_to(std::span{seen})).wait();
    std::size_t count = 0;
    for (std::size_t id = 0; id < size(); ++id) {
      if (seen[id] == expected_[id]) { continue; }
      if (++count <= 10) {
        ADD_FAILURE() << "launch " << id << " must run " << expected_[id] << " threads, but ran "
                      << seen[id];
      }
    }
    return count;
  }

 private:
  runtime& rt_;
  device_buffer<std::uint32_t> cells_;
  std::vector<std::uint32_t> expected_;
};

class Forms : public guest_test {};

/// Submits bursts of launches, one launch for each counter. The launches differ in arguments and
/// grid. A burst rarely fills a whole template. The block size changes every 200 bursts.
void launch_bursts(runtime& rt, device_ordinal device, count_threads const& kernel,
                   expected_counts& counts, unsigned seed) {
  constexpr std::size_t bursts_per_form = 200, max_burst = 80;
  std::minstd_rand random{seed};
  for (std::size_t id = 0; id < counts.size();) {
    auto const threads = static_cast<std::uint32_t>(1 + random() % 64);
    for (std::size_t burst = 0; burst < bursts_per_form && id < counts.size(); ++burst) {
      std::size_t const end = std::min(counts.size(), id + 1 + random() % max_burst);
      ticket last;
      for (; id < end; ++id) {
        auto const blocks = static_cast<std::uint32_t>(1 + random() % 3);
        counts.expect(id, blocks * threads);
        last = rt.submit(
            kernel.with_shape({blocks}, {threads})(counts.cells(), static_cast<std::uint32_t>(id)),
            {.device = device});
      }
      if (random() % 4 == 0) { last.wait(); }
    }
  }
}

// stress: every launch runs once with its own arguments and grid, in new and in reused templates
TEST_F(Forms, EveryLaunchRunsOnceInItsOwnGrid) {
  FLOTILLA_NEED_DEVICES(1);
  auto const devices = static_cast<unsigned>(std::min(4, devices_there()));
  // Grids would leave no batches for graph templates.
  runtime rt{{.devices = device_spec(static_cast<int>(devices)), .fuse_launches = false}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::vector<expected_counts> all;
  for (unsigned i = 0; i < devices; ++i) {
    all.emplace_back(rt, device_ordinal{i}, scaled(100'000, 5'000));
  }
  {
    std::vector<std::jthread> team;
    for (unsigned i = 0; i < devices; ++i) {
      team.emplace_back([&, i] { launch_bursts(rt, device_ordinal{i}, count, all[i], i + 1); });
    }
  }
  rt.wait_idle();
  for (expected_counts const& each : all) { EXPECT_EQ(each.wrong(), 0u); }
}

// stress: every replay, including the first, runs with the arguments and grids that were set before
// it
TEST_F(Forms, EveryReplayRunsAsItWasSet) {
  FLOTILLA_NEED_DEVICES(1);
  constexpr std::size_t tasks = 48, replays = 3;
  auto const devices = static_cast<unsigned>(std::min(4, devices_there()));
  std::size_t const recordings = scaled(200, 5);
  // Grids would leave no batches for graph templates.
  runtime rt{{.devices = device_spec(static_cast<int>(devices)), .fuse_launches = false}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::vector<expected_counts> all;
  for (unsigned i = 0; i < devices; ++i) {
    all.emplace_back(rt, device_ordinal{i}, recordings * replays * tasks);
  }
  auto const replay = [&](unsigned device) {
    expected_counts& counts = all[device];
    std::minstd_rand random{device + 1};
    for (std::size_t each = 0; each < recordings; ++each) {
      recording steps{rt};
      auto const threads = static_cast<std::uint32_t>(1 + random() % 64);
      std::vector<recorded_task> nodes;
      for (std::size_t i = 0; i < tasks; ++i) {
        nodes.push_back(steps.add(count.with_shape({1}, {threads})(counts.cells(), 0u),
                                  {.device = device_ordinal{device}}));
      }
      steps.finish();
      for (std::size_t round = 0; round < replays; ++round) {
        for (std::size_t i = 0; i < tasks; ++i) {
          std::size_t const id = (each * replays + round) * tasks + i;
          auto const blocks = static_cast<std::uint32_t>(1 + random() % 3);
          counts.expect(id, blocks * threads);
          steps.set(nodes[i], count.with_shape({blocks}, {threads})(
                                  counts.cells(), static_cast<std::uint32_t>(id)));
        }
        static_cast<void>(steps.replay());
      }
    }
  };
  {
    std::vector<std::jthread> team;
    for (unsigned i = 0; i < devices; ++i) { team.emplace_back(replay, i); }
  }
  rt.wait_idle();
  for (expected_counts const& each : all) { EXPECT_EQ(each.wrong(), 0u); }
}

}  // namespace
}  // namespace flotilla::test
