// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a submit cost the submitting thread if several threads submit at the same
//           time? Measured with tasks for a named device and with tasks for any device.
// Controls: cuLaunchKernel by the same number of threads, each into its own stream. For one thread
//           and for four threads, also empty bodies through oneTBB.
//
// flotilla and the controls are measured in bursts, as in submits.cpp. The result is the mean over
// all threads.

#include <algorithm>
#include <numeric>
#include <vector>

#include "bench_suite.hpp"
#include "burst.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

std::string named(std::string const& who, int producers) {
  return who + ", " + std::to_string(producers) + " threads";
}

// For one thread, submits.cpp measures this figure.
std::string subject_of(int producers) {
  return producers == 1 ? "flotilla, submit alone" : named("flotilla, submit", producers);
}

/// Returns the mean time per task in ns. Each thread times its calls of `submit(producer)`, which
/// submits one burst. The calls of `drain`, which runs the submitted tasks, are not timed.
template <class Submit, class Drain>
double time_bursts(thread_team& producers, std::int64_t bursts, Submit const& submit,
                   Drain const& drain) {
  std::vector<double> seconds(static_cast<std::size_t>(producers.size()));
  for (std::int64_t i = 0; i < bursts; ++i) {
    producers.run([&](int producer) {
      auto const start = clock::now();
      submit(producer);
      seconds[static_cast<std::size_t>(producer)] += seconds_since(start);
    });
    drain();
  }
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) * 1e9 /
         static_cast<double>(bursts * burst * producers.size());
}

std::int64_t bursts_of(bench_suite const& suite, int producers) {
  return std::max<std::int64_t>(1, suite.amount().raw / (burst * producers));
}

void measure_flotilla(bench_suite& suite, int producers, bool any) {
  std::int64_t const bursts = bursts_of(suite, producers);
  suite.measure(named(any ? "flotilla, submit for any device" : "flotilla, submit", producers),
                {.who = any ? "flotilla, any device" : "flotilla",
                 .what = "submit",
                 .producers = producers,
                 .backlog = burst},
                [=](figure&) {
                  auto& fixture =
                      get_fixture<runtime_fixture>({.workers = 0, .producers = producers});
                  return time_bursts(
                      fixture.producers, bursts,
                      [&](int) {
                        for (std::int64_t i = 0; i < burst; ++i) {
                          if (any) {
                            static_cast<void>(fixture.rt.submit(fixture.null_launch));
                          } else {
                            static_cast<void>(fixture.rt.submit(fixture.null_launch,
                                                                {.device = device_ordinal{0}}));
                          }
                        }
                      },
                      [&] { fixture.rt.wait_idle(); });
                });
}

void measure_driver(bench_suite& suite, int producers) {
  std::int64_t const bursts = bursts_of(suite, producers);
  suite.measure(named("raw launches, the calls", producers),
                {.who = "raw launches", .what = "submit", .producers = producers, .backlog = burst},
                [=](figure&) {
                  auto& plain = get_fixture<plain_driver>({.producers = producers});
                  return time_bursts(
                      plain.producers, bursts,
                      [&](int producer) { plain.launch_all(producer, burst); },
                      [&] {
                        for (int i = 0; i < producers; ++i) { plain.synchronize_all(i); }
                      });
                });
}

void measure_tbb(bench_suite& suite, int producers) {
  std::int64_t const bursts = bursts_of(suite, producers);
  suite.measure(
      named("oneTBB task_group::run", producers),
      {.who = "oneTBB task_group", .what = "submit", .producers = producers, .backlog = burst},
      [=](figure&) {
        auto& tbb = get_fixture<tbb_control>({.producers = producers});
        return time_bursts(
            tbb.producers, bursts, [&](int producer) { tbb.run_in_group(producer, burst); },
            [&] {
              for (int i = 0; i < producers; ++i) { tbb.wait_for_group(i); }
            });
      });
  suite.measure(
      named("oneTBB task_arena::enqueue", producers),
      {.who = "oneTBB enqueue", .what = "submit", .producers = producers, .backlog = burst},
      [=](figure&) {
        auto& tbb = get_fixture<tbb_control>({.producers = producers});
        return time_bursts(
            tbb.producers, bursts, [&](int) { tbb.enqueue(burst); },
            [&] { tbb.wait_for_enqueued(); });
      });
}

}  // namespace

void add_submit_threads(bench_suite& suite) {
  for (int const producers : {1, 2, 4, 8, 16}) {
    std::string const count = std::to_string(producers) + "p";
    if (producers != 1) {
      measure_flotilla(suite, producers, false);
      measure_driver(suite, producers);
      suite.compare({.id = "submit_" + count,
                     .subject = subject_of(producers),
                     .control = "cuLaunchKernel by as many threads",
                     .controls = {named("raw launches, the calls", producers)}});
    }
    measure_flotilla(suite, producers, true);
    suite.compare({.id = "submit_any_" + count,
                   .subject = named("flotilla, submit for any device", producers),
                   .control = "the same for a named device",
                   .controls = {subject_of(producers)}});
  }
  for (int const producers : {1, 4}) {
    measure_tbb(suite, producers);
    for (std::string const call : {"oneTBB task_group::run", "oneTBB task_arena::enqueue"}) {
      suite.compare({.id = "submit_tbb_" + std::to_string(producers) + "p",
                     .subject = subject_of(producers),
                     .control = call,
                     .controls = {named(call, producers)}});
    }
  }
}

}  // namespace flotilla::bench
