// Question: what does a callable that does nothing cost, from submit until all have run?
// Control:  what anybody must do who runs code in a context and wants to know when its stream has
//           passed it: push, call, record an event, pop (BM_CallablesPlain). And BM_FloodTbbEnqueue
//           in flood_controls.cpp: the same bodies without any device.

#include <functional>

#include "counts.hpp"
#include "fleet.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"

namespace flotilla::bench {

namespace {

constexpr std::int64_t callables = 16384;

void BM_Callables(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto const devices = static_cast<int>(state.range(1));
  if (!enough_devices(state, devices)) { return; }
  auto& ships =
      rig_for<fleet>({.devices = devices, .workers = workers_for(devices), .producers = producers});
  for (auto _ : state) {
    ships.producers.run([&](int producer) {
      for (std::int64_t i = 0; i < callables / producers; ++i) {
        static_cast<void>(
            ships.rt.submit([](task_context&) {}, {.device = ships.device_of(producer, i)}));
      }
    });
    ships.rt.wait_idle();
  }
  report_tasks(state, callables);
  state.counters["workers"] = workers_for(devices);
}

void BM_CallablesPlain(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto const devices = static_cast<int>(state.range(1));
  if (!enough_devices(state, devices)) { return; }
  auto& plain = rig_for<plain_driver>({.devices = devices, .producers = producers});
  std::function<void()> nothing = [] {};
  benchmark::DoNotOptimize(nothing);
  for (auto _ : state) {
    plain.producers.run([&](int producer) {
      std::vector<plain_driver::post> const& mine = plain.posts(producer);
      for (std::int64_t i = 0; i < callables / producers; ++i) {
        plain_driver::post const& where = mine[static_cast<std::size_t>(i) % mine.size()];
        plain.push(where);
        nothing();
        plain.record(where);
        plain.pop();
      }
      plain.synchronize_all(producer);
    });
  }
  report_tasks(state, callables);
}

BENCHMARK(BM_Callables)
    ->ArgNames({"producers", "devices"})
    ->ArgsProduct({{1, 4}, {1, 4}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CallablesPlain)
    ->ArgNames({"producers", "devices"})
    ->ArgsProduct({{1, 4}, {1, 4}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace flotilla::bench
