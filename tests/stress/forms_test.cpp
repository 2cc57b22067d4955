// Launches of ever other forms, in bursts. On GPUs the graphs that carry them are made for a form, filled in by the device,
// and given up for others: much of what a program sees once happens here all the time.

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

/// Counters on one device, and what they are to be.
class counted {
 public:
  counted(runtime& rt, device_ordinal where, std::size_t count) : rt_{rt}, cells_{rt, where, count}, expected_(count) {
    rt_.submit(cells_.fill(0)).wait();
  }
  [[nodiscard]] std::size_t size() const { return expected_.size(); }
  [[nodiscard]] std::uint32_t* cells() const { return static_cast<std::uint32_t*>(cells_); }
  void expect(std::size_t id, std::uint32_t threads) { expected_[id] = threads; }
  /// Says what is wrong with the first of them. @return how many are not as expected.
  [[nodiscard]] std::size_t wrong() const {
    std::vector<std::uint32_t> seen(size());
    rt_.submit(cells_.copy_to(std::span{seen})).wait();
    std::size_t count = 0;
    for (std::size_t id = 0; id < size(); ++id) {
      if (seen[id] == expected_[id]) { continue; }
      if (++count <= 10) { ADD_FAILURE() << "launch " << id << ": " << seen[id] << " threads, not " << expected_[id]; }
    }
    return count;
  }

 private:
  runtime& rt_;
  device_buffer<std::uint32_t> cells_;
  std::vector<std::uint32_t> expected_;
};

class Forms : public guest_test {};

/// Bursts that seldom fill what carries them, of launches that are alike but for their arguments and grids.
void launch_bursts(runtime& rt, device_ordinal where, count_threads const& kernel, counted& into, unsigned seed) {
  constexpr std::size_t bursts_of_a_form = 200, most_of_a_burst = 80;
  std::minstd_rand dice{seed};
  for (std::size_t id = 0; id < into.size();) {
    auto const threads = static_cast<std::uint32_t>(1 + dice() % 64);
    for (std::size_t burst = 0; burst < bursts_of_a_form && id < into.size(); ++burst) {
      std::size_t const end = std::min(into.size(), id + 1 + dice() % most_of_a_burst);
      ticket last;
      for (; id < end; ++id) {
        auto const blocks = static_cast<std::uint32_t>(1 + dice() % 3);
        into.expect(id, blocks * threads);
        last = rt.submit(kernel.on({blocks}, {threads})(into.cells(), static_cast<std::uint32_t>(id)), {.device = where});
      }
      if (dice() % 4 == 0) { last.wait(); }
    }
  }
}

// stress: a launch runs once and in its own grid, whatever carries it for the first time, and with whatever beside it
TEST_F(Forms, EveryLaunchRunsOnceInItsOwnGrid) {
  FLOTILLA_NEED_DEVICES(1);
  auto const devices = static_cast<unsigned>(std::min(4, devices_there()));
  runtime rt{{.devices = device_spec(static_cast<int>(devices))}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::vector<counted> all;
  for (unsigned i = 0; i < devices; ++i) { all.emplace_back(rt, device_ordinal{i}, scaled(100'000, 5'000)); }
  {
    std::vector<std::jthread> crew;
    for (unsigned i = 0; i < devices; ++i) {
      crew.emplace_back([&, i] { launch_bursts(rt, device_ordinal{i}, count, all[i], i + 1); });
    }
  }
  rt.wait_idle();
  for (counted const& each : all) { EXPECT_EQ(each.wrong(), 0u); }
}

// stress: what was changed before a recording's first replay is what that runs, and so on
TEST_F(Forms, EveryReplayRunsAsItWasSet) {
  FLOTILLA_NEED_DEVICES(1);
  constexpr std::size_t tasks = 48, replays = 3;
  auto const devices = static_cast<unsigned>(std::min(4, devices_there()));
  std::size_t const recordings = scaled(200, 5);
  runtime rt{{.devices = device_spec(static_cast<int>(devices))}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::vector<counted> all;
  for (unsigned i = 0; i < devices; ++i) { all.emplace_back(rt, device_ordinal{i}, recordings * replays * tasks); }
  auto const replay = [&](unsigned device) {
    counted& into = all[device];
    std::minstd_rand dice{device + 1};
    for (std::size_t each = 0; each < recordings; ++each) {
      recording made{rt};
      auto const threads = static_cast<std::uint32_t>(1 + dice() % 64);
      std::vector<recorded_task> nodes;
      for (std::size_t i = 0; i < tasks; ++i) {
        nodes.push_back(made.add(count.on({1}, {threads})(into.cells(), 0u), {.device = device_ordinal{device}}));
      }
      made.finish();
      for (std::size_t round = 0; round < replays; ++round) {
        for (std::size_t i = 0; i < tasks; ++i) {
          std::size_t const id = (each * replays + round) * tasks + i;
          auto const blocks = static_cast<std::uint32_t>(1 + dice() % 3);
          into.expect(id, blocks * threads);
          made.set(nodes[i], count.on({blocks}, {threads})(into.cells(), static_cast<std::uint32_t>(id)));
        }
        static_cast<void>(made.replay());
      }
    }
  };
  {
    std::vector<std::jthread> crew;
    for (unsigned i = 0; i < devices; ++i) { crew.emplace_back(replay, i); }
  }
  rt.wait_idle();
  for (counted const& each : all) { EXPECT_EQ(each.wrong(), 0u); }
}

}  // namespace
}  // namespace flotilla::test
