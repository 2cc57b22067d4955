// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

#include "clock.hpp"
#include "plain_driver.hpp"
#include "processor_time.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

using namespace std::chrono_literals;

constexpr int idle_intervals = 3;

/// Measures one row.
/// @param task  Runs the empty kernel and waits for its end.
/// @param spin  Runs a kernel that takes the given number of nanoseconds and waits for its end.
template <class Task, class Spin>
row measure(row result, durations const& durations, Task const& task, Spin const& spin) {
  // Warm-up: the first calls load the kernel and allocate memory.
  for (int i = 0; i < 10; ++i) { task(); }
  spin(1000);
  std::vector<double> samples_us;
  samples_us.reserve(static_cast<std::size_t>(durations.lone));
  auto const start = clock::now();
  for (int i = 0; i < durations.lone && clock::now() - start < durations.max_lone; ++i) {
    auto const begin = clock::now();
    task();
    samples_us.push_back(seconds_since(begin) * 1e6);
  }
  std::sort(samples_us.begin(), samples_us.end());
  result.p50_us = samples_us[samples_us.size() / 2];
  result.p99_us = samples_us[samples_us.size() * 99 / 100];
  result.share_50us = share_while(durations.waiting, [&] { spin(50'000); });
  result.share_5ms = share_while(durations.waiting, [&] { spin(5'000'000); });
  // Take the minimum of several intervals. A thread that finishes earlier work after settle(), as
  // may happen on a busy machine, affects only some intervals. A thread that wakes up periodically
  // affects every interval, so the minimum includes its work.
  result.share_idle = 1;
  for (int i = 0; i < idle_intervals; ++i) {
    settle(durations.settling, durations.max_settling);
    // This thread sleeps, so the process is idle. What it costs to wake this thread up, which is up
    // to 1 ms on a busy machine, does not belong to the runtime.
    double const before = processor_seconds_of_others();
    auto const begin = clock::now();
    std::this_thread::sleep_for(durations.idle);
    double const share = (processor_seconds_of_others() - before) / seconds_since(begin);
    result.share_idle = std::min(result.share_idle, share);
  }
  return result;
}

}  // namespace

durations durations::quick() {
  return {.lone = 50, .max_lone = 200ms, .waiting = 20ms, .settling = 200ms, .idle = 170ms};
}

row measure_flotilla(wait_policy policy, durations const& durations) {
  auto& fixture = get_fixture<runtime_fixture>({.workers = 1, .schedule = policy});
  if (fixture.rt.effective_settings(device_ordinal{0}).schedule != policy) {
    throw std::runtime_error{"the device's wait policy is not " + to_string(policy) +
                             ": unset FLOTILLA_SETTINGS and FLOTILLA_CONFIG, which override it"};
  }
  auto const spinning = fixture.kernels.kernel<unsigned long long>("spin").with_shape({1}, {1});
  return measure(
      {.schedule = policy, .who = "flotilla"}, durations,
      [&] { fixture.rt.submit(fixture.null_launch).wait(); },
      [&](unsigned long long ns) { fixture.rt.submit(spinning(ns)).wait(); });
}

row measure_driver(wait_policy policy, durations const& durations) {
  auto& plain = get_fixture<plain_driver>({.schedule = policy});
  plain_driver::launch_target const& target = plain.targets(0).front();
  plain.push(target);
  row const result = measure(
      {.schedule = policy, .who = "driver"}, durations,
      [&] {
        plain.launch(target);
        plain.synchronize(target);
      },
      [&](unsigned long long ns) {
        plain.spin(target, 1, 1, ns);
        plain.synchronize(target);
      });
  plain.pop();
  return result;
}

}  // namespace flotilla::bench
