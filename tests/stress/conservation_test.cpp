// Every task that is submitted runs exactly once.

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

/// How often each id was counted, by kernels and by callables.
class tally {
 public:
  tally(runtime& rt, std::size_t ids) : by_kernels_{rt, ids}, by_callables_(ids) {
    std::fill(by_kernels_.begin(), by_kernels_.end(), 0u);
  }
  [[nodiscard]] std::uint32_t* kernels() const { return by_kernels_.data(); }
  void called(std::size_t id) {
    by_callables_[id].fetch_add(1, std::memory_order_relaxed);
  }  // read when all is idle
  /// How many ids ran not exactly once.
  [[nodiscard]] std::size_t wrong() const {
    std::size_t count = 0;
    for (std::size_t id = 0; id < by_callables_.size(); ++id) {
      count += by_kernels_[id] + by_callables_[id].load() != 1u;
    }
    return count;
  }

 private:
  host_buffer<std::uint32_t> by_kernels_;  // every device reaches pinned memory
  std::vector<std::atomic<std::uint8_t>> by_callables_;
};

struct mixture {
  int devices;
  int workers;
  int producers;
  std::size_t tasks;
};

/// One producer's share: launches and callables, named devices and any, after some of its latest
/// tasks.
void produce(runtime& rt, kernel<std::uint32_t*, std::uint32_t> const& count, tally& counted,
             std::size_t first, std::size_t last, unsigned seed) {
  std::minstd_rand dice{seed};
  constexpr std::size_t remembered = 32;
  std::vector<ticket> latest(remembered);
  auto const devices = static_cast<unsigned>(rt.devices().size());
  for (std::size_t id = first; id < last; ++id) {
    task_options how;
    unsigned const place = dice() % (devices + 1);
    if (place < devices) { how.device = device_ordinal{place}; }
    if (dice() % 4 == 0) {
      for (unsigned i = dice() % 6; i > 0; --i) {
        ticket const& before = latest[dice() % remembered];
        if (before.valid()) { how.after.add(before); }
      }
    }
    how.batch = dice() % 16 != 0;
    if (dice() % 8 == 0) {
      latest[id % remembered] =
          rt.submit([&counted, id](task_context&) { counted.called(id); }, how);
    } else {
      latest[id % remembered] =
          rt.submit(count.on({1}, {1})(counted.kernels(), static_cast<std::uint32_t>(id)), how);
    }
  }
}

std::string name_of(::testing::TestParamInfo<mixture> const& info) {
  return "devices" + std::to_string(info.param.devices) + "_workers" +
         std::to_string(info.param.workers);
}

class Conservation : public guest_test, public ::testing::WithParamInterface<mixture> {};
INSTANTIATE_TEST_SUITE_P(, Conservation,
                         ::testing::Values(mixture{4, 2, 3, 1'000'000}, mixture{2, 8, 4, 200'000},
                                           mixture{1, 1, 2, 200'000}, mixture{4, 0, 2, 200'000}),
                         name_of);

// stress
TEST_P(Conservation, EveryTaskRunsExactlyOnce) {
  auto const& [devices, workers, producers, all] = GetParam();
  FLOTILLA_NEED_DEVICES(devices);
  std::size_t const tasks = scaled(all, 1000);
  runtime rt{{.devices = device_spec(devices), .workers = workers}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  tally counted{rt, tasks};
  {
    std::vector<std::jthread> crew;
    for (int p = 0; p < producers; ++p) {
      std::size_t const first =
          tasks * static_cast<std::size_t>(p) / static_cast<std::size_t>(producers);
      std::size_t const last =
          tasks * static_cast<std::size_t>(p + 1) / static_cast<std::size_t>(producers);
      crew.emplace_back([&, first, last, p] {
        produce(rt, count, counted, first, last, static_cast<unsigned>(p) + 1);
      });
    }
  }
  rt.wait_idle();
  EXPECT_EQ(counted.wrong(), 0u) << "of " << tasks << " tasks";
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
