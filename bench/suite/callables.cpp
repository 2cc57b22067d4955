// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does an empty callable cost? The cost is the time from the first submit until all
//           callables have run, divided by the number of callables.
// Controls: a thread that pushes the context, calls an empty function, records an event in its
//           stream and pops the context. On one device there is a second control: empty bodies
//           through oneTBB's task_arena::enqueue.

#include <benchmark/benchmark.h>

#include <functional>

#include "bench_suite.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

std::string named(char const* who, int producers, int devices) {
  return std::string{who} + " callables, " + std::to_string(producers) + " threads, " +
         std::to_string(devices) + " devices";
}

void measure_flotilla(bench_suite& suite, int producers, int devices) {
  std::int64_t const tasks = suite.amount().raw;
  suite.measure(
      named("flotilla", producers, devices),
      {.who = "flotilla",
       .what = "callables",
       .producers = producers,
       .devices = devices,
       .backlog = tasks},
      [=](figure&) {
        need_devices(devices);
        auto& fixture = get_fixture<runtime_fixture>(
            {.devices = devices, .workers = workers_for(devices), .producers = producers});
        auto const start = clock::now();
        fixture.producers.run([&](int producer) {
          for (std::int64_t i = 0; i < tasks / producers; ++i) {
            static_cast<void>(fixture.rt.submit([](task_context&) {},
                                                {.device = fixture.device_of(producer, i)}));
          }
        });
        fixture.rt.wait_idle();
        return ns_each(start, tasks);
      });
}

void measure_control(bench_suite& suite, int producers, int devices) {
  std::int64_t const tasks = suite.amount().raw;
  suite.measure(
      named("plain", producers, devices),
      {.who = "push, call, record, pop",
       .what = "callables",
       .producers = producers,
       .devices = devices,
       .backlog = tasks},
      [=](figure&) {
        need_devices(devices);
        auto& plain = get_fixture<plain_driver>({.devices = devices, .producers = producers});
        std::function<void()> nothing = [] {};
        benchmark::DoNotOptimize(nothing);
        auto const start = clock::now();
        plain.producers.run([&](int producer) {
          std::vector<plain_driver::launch_target> const& targets = plain.targets(producer);
          for (std::int64_t i = 0; i < tasks / producers; ++i) {
            plain_driver::launch_target const& target =
                targets[static_cast<std::size_t>(i) % targets.size()];
            plain.push(target);
            nothing();
            plain.record(target);
            plain.pop();
          }
          plain.synchronize_all(producer);
        });
        return ns_each(start, tasks);
      });
}

}  // namespace

void add_callables(bench_suite& suite) {
  struct arrangement {
    char const* id;
    int producers, devices;
  };
  for (auto const& [id, producers, devices] :
       {arrangement{"call_1p", 1, 1}, arrangement{"call_4p", 4, 1},
        arrangement{"call_1p_4gpu", 1, 4}, arrangement{"call_4p_4gpu", 4, 4}}) {
    measure_flotilla(suite, producers, devices);
    measure_control(suite, producers, devices);
    suite.compare({.id = id,
                   .subject = named("flotilla", producers, devices),
                   .control = "push, call, record an event, pop",
                   .controls = {named("plain", producers, devices)}});
    if (devices == 1) {
      suite.compare(
          {.id = id,
           .subject = named("flotilla", producers, devices),
           .control = "empty bodies, oneTBB task_arena::enqueue",
           .controls = {"oneTBB enqueue, " + std::to_string(producers) + " threads, 1 devices"}});
    }
  }
}

}  // namespace flotilla::bench
