// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does an empty task cost in a flood? Measured for several numbers of producers,
//           devices and open tasks, and for one thread that submits and pumps.
// Controls: launches by 1 to 16 threads, each into its own stream, and empty bodies through oneTBB.
//           A third control is the limit of the device: a graph of 64 chains that is relaunched
//           unchanged.

#include <algorithm>
#include <utility>

#include "bench_suite.hpp"
#include "machine.hpp"
#include "plain_chains.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"
#include "tbb_control.hpp"

namespace flotilla::bench {

namespace {

constexpr int counts[] = {1, 2, 4, 8, 16};
constexpr char const* limit = "relaunched graph of 64 chains";

std::string named(char const* who, int producers, int devices) {
  return std::string{who} + ", " + std::to_string(producers) + " threads, " +
         std::to_string(devices) + " devices";
}

void add_flotilla(bench_suite& suite, int producers, int devices) {
  std::int64_t const tasks = suite.amount().flood;
  suite.measure(
      named("flotilla", producers, devices),
      {.who = "flotilla",
       .what = "flood",
       .producers = producers,
       .devices = devices,
       .backlog = tasks},
      [=](figure& result) {
        need_devices(devices);
        auto& fixture = get_fixture<runtime_fixture>(
            {.devices = devices, .workers = workers_for(devices), .producers = producers});
        device_counters const before = fixture.counters();
        auto const start = clock::now();
        fixture.producers.run([&](int) {
          for (std::int64_t i = 0; i < tasks / producers; ++i) {
            static_cast<void>(fixture.rt.submit(fixture.null_launch));
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

void add_raw(bench_suite& suite, int threads, int devices) {
  std::int64_t const tasks = suite.amount().raw;
  suite.measure(named("raw launches", threads, devices),
                {.who = "raw launches",
                 .what = "flood",
                 .producers = threads,
                 .devices = devices,
                 .backlog = tasks},
                [=](figure&) {
                  need_devices(devices);
                  auto& plain =
                      get_fixture<plain_driver>({.devices = devices, .producers = threads});
                  auto const start = clock::now();
                  plain.producers.run([&](int producer) {
                    plain.launch_all(producer, tasks / threads);
                    plain.synchronize_all(producer);
                  });
                  return ns_each(start, tasks);
                });
}

void add_tbb(bench_suite& suite, int producers) {
  std::int64_t const tasks = suite.amount().raw;
  suite.measure(
      named("oneTBB enqueue", producers, 1),
      {.who = "oneTBB enqueue", .what = "flood", .producers = producers, .backlog = tasks},
      [=](figure&) {
        auto& tbb = get_fixture<tbb_control>({.producers = producers, .workers = workers_for(1)});
        auto const start = clock::now();
        tbb.producers.run([&](int) { tbb.enqueue(tasks / producers); });
        tbb.wait_for_enqueued();
        return ns_each(start, tasks);
      });
}

/// Measures the limit of the device with a graph of 64 chains of 64 nodes. This graph runs far
/// longer than its launch takes, so the device never waits for a launch.
void add_limit(bench_suite& suite) {
  constexpr int nodes = 4096;
  std::int64_t const batches = std::max<std::int64_t>(1, suite.amount().flood / nodes);
  suite.measure(limit, {.who = "relaunched graph", .what = "flood", .backlog = batches * nodes},
                [=](figure&) {
                  auto& chains = get_fixture<plain_chains>(
                      {.nodes = nodes, .width = 64, .streams = 1, .graphs = 1});
                  auto const start = clock::now();
                  chains.relaunch(batches);
                  return ns_each(start, batches * nodes);
                });
}

void add_pump(bench_suite& suite, int devices) {
  std::int64_t const tasks = suite.amount().flood;
  suite.measure(
      "flotilla, one thread that pumps, " + std::to_string(devices) + " devices",
      {.who = "flotilla, one thread", .what = "flood", .devices = devices, .backlog = tasks},
      [=](figure&) {
        need_devices(devices);
        auto& fixture = get_fixture<runtime_fixture>({.devices = devices, .workers = 0});
        auto const start = clock::now();
        for (std::int64_t i = 0; i < tasks; ++i) {
          static_cast<void>(
              fixture.rt.submit(fixture.null_launch, {.device = fixture.device_of(0, i)}));
          if (i % 64 == 0) { fixture.rt.pump(); }  // like the main loop of an application
        }
        fixture.rt.wait_idle();
        return ns_each(start, tasks);
      });
}

void add_backlogs(bench_suite& suite) {
  std::int64_t const all = suite.amount().raw / 4;
  for (std::int64_t const backlog : {1, 8, 64, 512, 4096}) {
    suite.measure("flotilla, " + std::to_string(backlog) + " tasks at a time",
                  {.who = "flotilla", .what = "backlog", .backlog = backlog}, [=](figure&) {
                    auto& fixture = get_fixture<runtime_fixture>({});
                    std::int64_t const rounds =
                        std::max<std::int64_t>(1, all / std::max<std::int64_t>(backlog, 16));
                    auto const start = clock::now();
                    for (std::int64_t round = 0; round < rounds; ++round) {
                      for (std::int64_t i = 0; i < backlog; ++i) {
                        static_cast<void>(fixture.rt.submit(fixture.null_launch));
                      }
                      fixture.rt.wait_idle();
                    }
                    return ns_each(start, rounds * backlog);
                  });
  }
  for (std::int64_t const backlog : {1, 8, 64, 512, 4096}) {
    suite.measure("raw launches, " + std::to_string(backlog) + " at a time",
                  {.who = "raw launches", .what = "backlog", .backlog = backlog}, [=](figure&) {
                    auto& plain = get_fixture<plain_driver>({});
                    std::int64_t const rounds =
                        std::max<std::int64_t>(1, all / std::max<std::int64_t>(backlog, 16));
                    auto const start = clock::now();
                    for (std::int64_t round = 0; round < rounds; ++round) {
                      plain.launch_all(0, backlog);
                      plain.synchronize_all(0);
                    }
                    return ns_each(start, rounds * backlog);
                  });
  }
}

void add_rows(bench_suite& suite) {
  std::string const one = named("flotilla", 1, 1);
  std::string const raw_one = named("raw launches", 1, 1);
  std::vector<std::string> raw;
  for (int const threads : counts) { raw.push_back(named("raw launches", threads, 1)); }
  suite.compare({.id = "empty_1p",
                 .subject = one,
                 .control = "raw launches, 1 thread",
                 .controls = {raw_one},
                 .max_ratio = 0.1});
  suite.compare(
      {.id = "empty_1p", .subject = one, .control = limit, .controls = {limit}, .max_ratio = 1.35});
  suite.compare({.id = "flood_1p",
                 .subject = one,
                 .control = "raw launches, 1 thread",
                 .controls = {raw_one},
                 .max_ratio = 1.0 / 40});
  for (auto const& [producers, ratio] : {std::pair{1, 0.35}, {4, 0.2}, {16, 0.2}}) {
    suite.compare({.id = "flood_" + std::to_string(producers) + "p",
                   .subject = named("flotilla", producers, 1),
                   .control = limit,
                   .controls = {limit},
                   .max_ratio = ratio});
  }
  suite.compare({.id = "flood_2gpu",
                 .subject = named("flotilla", 2, 2),
                 .control = "one device, 1 or 2 threads",
                 .controls = {one, named("flotilla", 2, 1)},
                 .max_ratio = 0.6});
  for (int const producers : {2, 4, 8, 16}) {
    std::string const id = "empty_" + std::to_string(producers) + "p";
    std::string const subject = named("flotilla", producers, 1);
    suite.compare(
        {.id = id, .subject = subject, .control = "empty_1p", .controls = {one}, .max_ratio = 1.2});
    suite.compare(
        {.id = id, .subject = subject, .control = "best raw", .controls = raw, .max_ratio = 0.25});
  }
  suite.compare({.id = "empty_4gpu",
                 .subject = named("flotilla", 4, 4),
                 .control = "raw launches, 4 threads a GPU",
                 .controls = {named("raw launches", 16, 4)},
                 .max_ratio = 0.25});
  suite.compare({.id = "pump_4gpu",
                 .subject = "flotilla, one thread that pumps, 4 devices",
                 .control = "raw launches by one thread on 4 GPUs",
                 .controls = {named("raw launches", 1, 4)},
                 .max_ratio = 1.0 / 6});
}

}  // namespace

void add_floods(bench_suite& suite) {
  for (int const producers : counts) { add_flotilla(suite, producers, 1); }
  for (int const threads : counts) { add_raw(suite, threads, 1); }
  for (int const producers : counts) { add_tbb(suite, producers); }
  add_limit(suite);
  for (int const devices : {2, 4, 8}) {
    add_flotilla(suite, devices, devices);
    add_raw(suite, 4 * devices, devices);
  }
  for (int const devices : {2, 4}) { add_raw(suite, 1, devices); }
  for (int const devices : {1, 2, 4}) { add_pump(suite, devices); }
  add_backlogs(suite);
  add_rows(suite);
}

}  // namespace flotilla::bench
