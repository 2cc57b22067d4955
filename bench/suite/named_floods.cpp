// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does an empty task cost in a flood if each task names its device? The tasks name
//           the devices in turn.
// Control:  the same flood with tasks that any device may take.
//
// Other rows compare the flood for any device with launches by the same number of threads. On one
// device, there are also rows that compare this flood with empty bodies through oneTBB.

#include <algorithm>

#include "bench_suite.hpp"
#include "machine.hpp"
#include "runtime_fixture.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

std::string named(std::string const& who, int producers, int devices) {
  return who + ", " + std::to_string(producers) + " threads, " + std::to_string(devices) +
         " devices";
}

constexpr char const* any_device = "flotilla";  // must equal the name in floods.cpp
constexpr char const* named_device = "flotilla, named device";

void measure_flood(bench_suite& suite, int producers, int devices, bool any) {
  std::int64_t const tasks = suite.amount().flood;
  char const* const who = any ? any_device : named_device;
  suite.measure(
      named(who, producers, devices),
      {.who = who,
       .what = any ? "flood" : "named flood",
       .producers = producers,
       .devices = devices,
       .backlog = tasks},
      [=](figure& result) {
        need_devices(devices);
        auto& fixture = get_fixture<runtime_fixture>(
            {.devices = devices, .workers = workers_for(devices), .producers = producers});
        device_counters const before = fixture.counters();
        auto const start = clock::now();
        fixture.producers.run([&](int producer) {
          for (std::int64_t i = 0; i < tasks / producers; ++i) {
            if (any) {
              static_cast<void>(fixture.rt.submit(fixture.null_launch));
            } else {
              static_cast<void>(fixture.rt.submit(fixture.null_launch,
                                                  {.device = fixture.device_of(producer, i)}));
            }
          }
        });
        fixture.rt.wait_idle();
        double const each = ns_each(start, tasks);
        device_counters const after = fixture.counters();
        auto const batches = std::max<std::uint64_t>(1, after.batches - before.batches);
        result.note = std::to_string(static_cast<std::uint64_t>(tasks) / batches) +
                      " tasks a batch, " + std::to_string(after.migrations - before.migrations) +
                      " migrations";
        return each;
      });
}

void measure_task_group(bench_suite& suite, int producers) {
  std::int64_t const tasks = suite.amount().raw;
  suite.measure(
      named("oneTBB task_group", producers, 1),
      {.who = "oneTBB task_group", .what = "body flood", .producers = producers, .backlog = tasks},
      [=](figure&) {
        auto& tbb = get_fixture<tbb_control>({.producers = producers});
        auto const start = clock::now();
        tbb.producers.run([&](int producer) {
          tbb.run_in_group(producer, tasks / producers);
          tbb.wait_for_group(producer);
        });
        return ns_each(start, tasks);
      });
}

void add_one_device(bench_suite& suite) {
  for (int const producers : {1, 2, 4, 8, 16}) {
    std::string const count = std::to_string(producers) + "p";
    measure_flood(suite, producers, 1, false);
    measure_task_group(suite, producers);
    suite.compare({.id = "named_" + count,
                   .subject = named(named_device, producers, 1),
                   .control = "tasks for any device",
                   .controls = {named(any_device, producers, 1)}});
    for (std::string const call : {"oneTBB task_group", "oneTBB enqueue"}) {
      suite.compare({.id = "empty_tbb_" + count,
                     .subject = named(any_device, producers, 1),
                     .control = "empty bodies, " + call,
                     .controls = {named(call, producers, 1)}});
    }
  }
}

void add_several_devices(bench_suite& suite) {
  struct team {
    int producers, devices;
  };
  for (auto const& [producers, devices] :
       {team{1, 2}, team{2, 2}, team{1, 4}, team{4, 4}, team{16, 4}}) {
    std::string const suffix = std::to_string(producers) + "p_" + std::to_string(devices) + "gpu";
    // If there are as many producers as devices, floods.cpp already measures the flood for any
    // device.
    if (producers != devices) {
      measure_flood(suite, producers, devices, true);
      suite.compare({.id = "empty_" + suffix,
                     .subject = named(any_device, producers, devices),
                     .control = "raw launches by as many threads",
                     .controls = {named("raw launches", producers, devices)}});
    }
    measure_flood(suite, producers, devices, false);
    suite.compare({.id = "named_" + suffix,
                   .subject = named(named_device, producers, devices),
                   .control = "tasks for any device",
                   .controls = {named(any_device, producers, devices)}});
  }
}

}  // namespace

void add_named_floods(bench_suite& suite) {
  add_one_device(suite);
  add_several_devices(suite);
}

}  // namespace flotilla::bench
