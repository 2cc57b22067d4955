#include "measure.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "counts.hpp"
#include "fleet.hpp"
#include "plain_driver.hpp"

namespace flotilla::bench {

namespace {

using namespace std::chrono_literals;

/// Seconds of processor time that all threads of this process have taken.
double taken() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto const seconds = [](timeval const& of) {
    return static_cast<double>(of.tv_sec) + static_cast<double>(of.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// What the process takes of a processor while `once` is called again and again for so long.
template <class Once>
double share_while(std::chrono::milliseconds length, Once const& once) {
  double const before = taken();
  auto const start = clock::now();
  while (clock::now() - start < length) { once(); }
  return (taken() - before) / seconds_since(start);
}

/// How often this process's threads but this one have been on a processor.
unsigned long long turns_of_others() {
  unsigned long long all = 0;
  for (auto const& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    if (thread.path().filename() == std::to_string(gettid())) { continue; }
    std::ifstream file{thread.path() / "schedstat"};
    unsigned long long ran = 0, waited = 0, turns = 0;
    if (file >> ran >> waited >> turns) { all += turns + waited; }
  }
  return all;
}

/// Until the runtime is idle: no other thread was on a processor, or waited for one, for so long. On a processor that
/// others use as well, oneTBB's threads look for work for as many turns as ever and get each turn later: a fixed time
/// would measure these looks as the cost of doing nothing. Threads that wake from time to time never let it settle,
/// and are measured.
void settle(lengths const& of) {
  auto const begin = clock::now();
  for (unsigned long long seen = turns_of_others();;) {
    std::this_thread::sleep_for(of.settling);
    unsigned long long const now = turns_of_others();
    if (now == seen || clock::now() - begin > of.most_settling) { return; }
    seen = now;
  }
}

/// @param task  Runs the empty kernel and waits for it.
/// @param spin  The same with one of so many nanoseconds.
template <class Task, class Spin>
row measure(row made, lengths const& of, Task const& task, Spin const& spin) {
  for (int i = 0; i < 10; ++i) { task(); }  // what first uses load and allocate
  spin(1000);
  std::vector<double> each;
  each.reserve(static_cast<std::size_t>(of.lone));
  auto const start = clock::now();
  for (int i = 0; i < of.lone && clock::now() - start < of.most_lone; ++i) {
    auto const begin = clock::now();
    task();
    each.push_back(seconds_since(begin) * 1e6);
  }
  std::sort(each.begin(), each.end());
  made.p50_us = each[each.size() / 2];
  made.p99_us = each[each.size() * 99 / 100];
  made.share_50us = share_while(of.waiting, [&] { spin(50'000); });
  made.share_5ms = share_while(of.waiting, [&] { spin(5'000'000); });
  settle(of);
  made.share_idle = share_while(of.idle, [&] { std::this_thread::sleep_for(of.idle); });
  return made;
}

}  // namespace

lengths lengths::quick() {
  return {.lone = 50, .most_lone = 200ms, .waiting = 20ms, .settling = 200ms, .idle = 500ms};
}

row measure_flotilla(schedule how, lengths const& of) {
  auto& ships = rig_for<fleet>({.workers = 1, .schedule = how});
  if (ships.rt.effective_settings(device_ordinal{0}).schedule != how) {
    throw std::runtime_error{"the device's schedule is not " + to_string(how) +
                             ": FLOTILLA_SETTINGS or FLOTILLA_CONFIG says another"};
  }
  auto const spinning = ships.kernels.kernel<unsigned long long>("spin").on({1}, {1});
  return measure(
      {.schedule = how, .who = "flotilla"}, of, [&] { ships.rt.submit(ships.null).wait(); },
      [&](unsigned long long ns) { ships.rt.submit(spinning(ns)).wait(); });
}

row measure_driver(schedule how, lengths const& of) {
  auto& plain = rig_for<plain_driver>({.schedule = how});
  plain_driver::post const& where = plain.posts(0).front();
  plain.push(where);
  row const made = measure(
      {.schedule = how, .who = "driver"}, of,
      [&] {
        plain.launch(where);
        plain.synchronize(where);
      },
      [&](unsigned long long ns) {
        plain.spin(where, 1, 1, ns);
        plain.synchronize(where);
      });
  plain.pop();
  return made;
}

}  // namespace flotilla::bench
