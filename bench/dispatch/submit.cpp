// Question: what does a submit cost the thread that makes it?
// Control:  cuLaunchKernel by as many threads, each into its own stream (BM_SubmitPlain); handing
//           an empty body to oneTBB (BM_SubmitTbbGroup, BM_SubmitTbbEnqueue).
//
// A burst is timed by its producer and carried out between bursts, untimed. Nobody drains
// meanwhile: the runtime has no workers. The driver and oneTBB have no such state, and begin at
// once. Bursts are short enough to fit flotilla's window and the queues of the driver. With several
// producers: the mean of their times.

#include <numeric>

#include "counts.hpp"
#include "fleet.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

constexpr std::int64_t burst = 512;

/// Times `body(i)` for each producer and then carries out what it queued.
template <class Body, class Drain>
void time_bursts(benchmark::State& state, crew& producers, Body const& body, Drain const& drain) {
  std::vector<double> took(static_cast<std::size_t>(producers.size()));
  for (auto _ : state) {
    producers.run([&](int producer) {
      auto const start = clock::now();
      body(producer);
      took[static_cast<std::size_t>(producer)] = seconds_since(start);
    });
    state.SetIterationTime(std::accumulate(took.begin(), took.end(), 0.0) /
                           static_cast<double>(took.size()));
    drain();
  }
  report_tasks(state, burst);
}

void BM_Submit(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  bool const any = state.range(1) != 0;
  auto& ships = rig_for<fleet>({.workers = 0, .producers = producers});
  time_bursts(
      state, ships.producers,
      [&](int producer) {
        for (std::int64_t i = 0; i < burst; ++i) {
          if (any) {
            static_cast<void>(ships.rt.submit(ships.null));
          } else {
            static_cast<void>(
                ships.rt.submit(ships.null, {.device = ships.device_of(producer, i)}));
          }
        }
      },
      [&] { ships.rt.wait_idle(); });
}

void BM_SubmitPlain(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto& plain = rig_for<plain_driver>({.producers = producers});
  time_bursts(
      state, plain.producers, [&](int producer) { plain.launch_all(producer, burst); },
      [&] {
        for (int i = 0; i < producers; ++i) { plain.synchronize_all(i); }
      });
}

void BM_SubmitTbbGroup(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto& tbb = rig_for<tbb_control>({.producers = producers});
  time_bursts(
      state, tbb.producers, [&](int producer) { tbb.run_in_group(producer, burst); },
      [&] {
        for (int i = 0; i < producers; ++i) { tbb.wait_for_group(i); }
      });
}

void BM_SubmitTbbEnqueue(benchmark::State& state) {
  auto const producers = static_cast<int>(state.range(0));
  auto& tbb = rig_for<tbb_control>({.producers = producers});
  time_bursts(
      state, tbb.producers, [&](int) { tbb.enqueue(burst); }, [&] { tbb.wait_for_enqueued(); });
}

// any: 0 the task names its device, 1 whichever device has room takes it
BENCHMARK(BM_Submit)
    ->ArgNames({"producers", "any"})
    ->ArgsProduct({{1, 2, 4, 8, 16}, {0, 1}})
    ->UseManualTime();
BENCHMARK(BM_SubmitPlain)
    ->ArgName("producers")
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Arg(16)
    ->UseManualTime();
BENCHMARK(BM_SubmitTbbGroup)->ArgName("producers")->Arg(1)->Arg(4)->UseManualTime();
BENCHMARK(BM_SubmitTbbEnqueue)->ArgName("producers")->Arg(1)->Arg(4)->UseManualTime();

}  // namespace

}  // namespace flotilla::bench
