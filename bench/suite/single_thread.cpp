// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task cost if one thread submits, pumps and sees the end? Measured on one
//           and on two devices. And what does a pump cost if there are no tasks?
// Controls: one thread that launches on the same number of devices; for the pump, a push and a pop
//           of each context.

#include <benchmark/benchmark.h>

#include "bench_suite.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

std::string on_devices(std::string const& who, int devices) {
  return who + ", " + std::to_string(devices) + " devices";
}

void measure_idle_pump(bench_suite& suite, int devices) {
  std::int64_t const pumps = suite.amount().raw;
  suite.measure(on_devices("flotilla, pump without tasks", devices),
                {.who = "flotilla", .what = "idle pump", .devices = devices}, [=](figure&) {
                  need_devices(devices);
                  auto& fixture = get_fixture<runtime_fixture>({.devices = devices, .workers = 0});
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < pumps; ++i) {
                    benchmark::DoNotOptimize(fixture.rt.pump());
                  }
                  return ns_each(start, pumps);
                });
  suite.measure(on_devices("push and pop", devices),
                {.who = "push and pop", .what = "idle pump", .devices = devices}, [=](figure&) {
                  need_devices(devices);
                  auto& plain = get_fixture<plain_driver>({.devices = devices});
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < pumps; ++i) {
                    for (plain_driver::launch_target const& each : plain.targets(0)) {
                      plain.push(each);
                      plain.pop();
                    }
                  }
                  return ns_each(start, pumps);
                });
}

}  // namespace

void add_single_thread(bench_suite& suite) {
  for (int const devices : {1, 2}) {  // floods.cpp has the row for four devices: pump_4gpu
    suite.compare({.id = "pump_" + std::to_string(devices) + "gpu",
                   .subject = on_devices("flotilla, one thread that pumps", devices),
                   .control = "raw launches by one thread",
                   .controls = {on_devices("raw launches, 1 threads", devices)}});
  }
  for (int const devices : {1, 2, 4}) {
    measure_idle_pump(suite, devices);
    suite.compare({.id = "idle_pump_" + std::to_string(devices) + "gpu",
                   .subject = on_devices("flotilla, pump without tasks", devices),
                   .control = "push and pop of each context",
                   .controls = {on_devices("push and pop", devices)}});
  }
}

}  // namespace flotilla::bench
