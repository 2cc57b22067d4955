// Question: what does a task cost when one thread does everything, for one device and for several:
//           submit, pump, see the end? And what does a pump cost that finds nothing to do?
// Control:  one thread that launches on as many devices, BM_FloodPlain/producers:1 in
//           flood_controls.cpp; a push and a pop of each context (BM_PumpPlain).

#include "counts.hpp"
#include "fleet.hpp"
#include "flood.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"

namespace flotilla::bench {

namespace {

/// As a program's main loop would: devices are busy long before all is submitted.
constexpr std::int64_t submits_a_pump = 64;

void BM_SingleThread(benchmark::State& state) {
  auto const devices = static_cast<int>(state.range(0));
  if (!enough_devices(state, devices)) { return; }
  auto& ships = rig_for<fleet>({.devices = devices, .workers = 0});
  for (auto _ : state) {
    for (std::int64_t i = 0; i < flood_tasks; ++i) {
      static_cast<void>(ships.rt.submit(ships.null, {.device = ships.device_of(0, i)}));
      if (i % submits_a_pump == 0) { ships.rt.pump(); }
    }
    ships.rt.wait_idle();  // pumps, and lets CPU devices have the core when there is nothing to do
  }
  report_tasks(state, flood_tasks);
}

void BM_Pump(benchmark::State& state) {
  auto const devices = static_cast<int>(state.range(0));
  if (!enough_devices(state, devices)) { return; }
  auto& ships = rig_for<fleet>({.devices = devices, .workers = 0});
  for (auto _ : state) { benchmark::DoNotOptimize(ships.rt.pump()); }
}

void BM_PumpPlain(benchmark::State& state) {
  auto const devices = static_cast<int>(state.range(0));
  if (!enough_devices(state, devices)) { return; }
  auto& plain = rig_for<plain_driver>({.devices = devices});
  for (auto _ : state) {
    for (plain_driver::post const& each : plain.posts(0)) {
      plain.push(each);
      plain.pop();
    }
  }
}

BENCHMARK(BM_SingleThread)
    ->ArgNames({"devices"})
    ->ArgsProduct({{1, 2, 4}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Pump)->ArgName("devices")->Arg(1)->Arg(2)->Arg(4)->Apply(on_the_wall);
BENCHMARK(BM_PumpPlain)->ArgName("devices")->Arg(1)->Arg(2)->Arg(4)->Apply(on_the_wall);

}  // namespace

}  // namespace flotilla::bench
