// The controls of flood.cpp.

#include "counts.hpp"
#include "flood.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

// Each producer launches into its own stream and then waits for it. With fewer producers than
// devices a producer goes from one to the next.
void BM_FloodPlain(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto const devices = static_cast<int>(state.range(1));
  if (!enough_devices(state, devices)) { return; }
  auto& plain = rig_for<plain_driver>({.devices = devices, .producers = producers});
  for (auto _ : state) {
    plain.producers.run([&](int producer) {
      plain.launch_all(producer, flood_tasks / producers);
      plain.synchronize_all(producer);
    });
  }
  report_tasks(state, flood_tasks);
}

void BM_FloodTbbGroup(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto& tbb = rig_for<tbb_control>({.producers = producers});
  for (auto _ : state) {
    tbb.producers.run([&](int producer) {
      tbb.run_in_group(producer, flood_tasks / producers);
      tbb.wait_for_group(producer);
    });
  }
  report_tasks(state, flood_tasks);
}

// An arena of as many workers as flotilla has for so many devices.
void BM_FloodTbbEnqueue(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto const devices = static_cast<int>(state.range(1));
  if (!enough_devices(state, devices)) { return; }
  auto& tbb = rig_for<tbb_control>({.producers = producers, .workers = workers_for(devices)});
  for (auto _ : state) {
    tbb.producers.run([&](int) { tbb.enqueue(flood_tasks / producers); });
    tbb.wait_for_enqueued();
  }
  report_tasks(state, flood_tasks);
  state.counters["workers"] = workers_for(devices);
}

BENCHMARK(BM_FloodPlain)
    ->ArgNames({"producers", "devices"})
    ->ArgsProduct({{1, 2, 4, 8, 16}, {1, 2, 4}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FloodTbbGroup)
    ->ArgNames({"producers"})
    ->ArgsProduct({{1, 2, 4, 8, 16}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FloodTbbEnqueue)
    ->ArgNames({"producers", "devices"})
    ->ArgsProduct({{1, 2, 4, 8, 16}, {1, 2, 4}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace flotilla::bench
