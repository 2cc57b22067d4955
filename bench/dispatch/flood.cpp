// Question: what does a task cost, from submit until all have run, when there are more than the
//           devices can take?
// Control:  the same number of launches by as many threads on as many devices (BM_FloodPlain); as
//           many empty bodies through oneTBB (BM_FloodTbbGroup, BM_FloodTbbEnqueue):
//           flood_controls.cpp.

#include "flood.hpp"
#include "counts.hpp"
#include "fleet.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

void BM_Flood(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto const devices = static_cast<int>(state.range(1));
  bool const any = state.range(2) != 0;
  if (!enough_devices(state, devices)) { return; }
  auto& ships =
      rig_for<fleet>({.devices = devices, .workers = workers_for(devices), .producers = producers});
  device_counters const before = ships.counters();
  for (auto _ : state) {
    ships.producers.run([&](int producer) {
      for (std::int64_t i = 0; i < flood_tasks / producers; ++i) {
        if (any) {
          static_cast<void>(ships.rt.submit(ships.null));
        } else {
          static_cast<void>(ships.rt.submit(ships.null, {.device = ships.device_of(producer, i)}));
        }
      }
    });
    ships.rt.wait_idle();
  }
  device_counters const after = ships.counters();
  report_tasks(state, flood_tasks);
  auto const tasks = static_cast<double>(after.tasks - before.tasks);
  state.counters["workers"] = workers_for(devices);
  state.counters["tasks/batch"] = tasks / static_cast<double>(after.batches - before.batches);
  state.counters["migrations/1000"] =
      1000 * static_cast<double>(after.migrations - before.migrations) / tasks;
}

// any: 0 each task names its device, in turn; 1 whichever device has room takes it
BENCHMARK(BM_Flood)
    ->ArgNames({"producers", "devices", "any"})
    ->ArgsProduct({{1, 2, 4, 8, 16}, {1, 2, 4}, {0, 1}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace flotilla::bench
