// Question: how long does one task take from its submit until its submitter knows that it has run?
// Control:  one launch and cuStreamSynchronize, the context with the same schedule flag
//           (BM_LonePlain); one empty body through oneTBB (BM_LoneTbbGroup, which the caller runs
//           itself, and BM_LoneTbbEnqueue, which another thread runs).

#include <flotilla/settings.hpp>

#include "counts.hpp"
#include "fleet.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

/// Times each call of `task` by itself.
template <class Task>
void time_each(benchmark::State& state, Task const& task) {
  latencies all{state};
  for (auto _ : state) {
    auto const start = clock::now();
    task();
    all.add(clock::now() - start);
  }
  all.report(state);
}

void BM_LoneTask(benchmark::State& state) {
  auto const how = static_cast<schedule>(state.range(0));
  auto& ships = rig_for<fleet>({.workers = static_cast<int>(state.range(1)), .schedule = how});
  state.SetLabel(to_string(how));
  time_each(state, [&] { ships.rt.submit(ships.null, {.device = device_ordinal{0}}).wait(); });
}

void BM_LonePlain(benchmark::State& state) {
  auto const how = static_cast<schedule>(state.range(0));
  auto& plain = rig_for<plain_driver>({.schedule = how});
  state.SetLabel(to_string(how));
  plain_driver::post const& where = plain.posts(0).front();
  plain.push(where);
  time_each(state, [&] {
    plain.launch(where);
    plain.synchronize(where);
  });
  plain.pop();
}

void BM_LoneTbbGroup(benchmark::State& state) {
  auto& tbb = rig_for<tbb_control>({});
  time_each(state, [&] {
    tbb.run_in_group(0, 1);
    tbb.wait_for_group(0);
  });
}

void BM_LoneTbbEnqueue(benchmark::State& state) {
  auto& tbb = rig_for<tbb_control>({});
  time_each(state, [&] {
    tbb.enqueue(1);
    tbb.wait_for_enqueued();
  });
}

constexpr auto spin = static_cast<std::int64_t>(schedule::spin);
constexpr auto yield = static_cast<std::int64_t>(schedule::yield);
constexpr auto blocking = static_cast<std::int64_t>(schedule::blocking);

// workers: 0 the submitter does all itself, 1 it shares the work with one
BENCHMARK(BM_LoneTask)
    ->ArgNames({"schedule", "workers"})
    ->ArgsProduct({{spin, yield, blocking}, {0, 1}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_LonePlain)
    ->ArgNames({"schedule"})
    ->ArgsProduct({{spin, yield, blocking}})
    ->Apply(on_the_wall)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_LoneTbbGroup)->Apply(on_the_wall)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_LoneTbbEnqueue)->Apply(on_the_wall)->Unit(benchmark::kMicrosecond);

}  // namespace

}  // namespace flotilla::bench
