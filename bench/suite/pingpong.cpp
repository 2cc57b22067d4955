// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task cost in a chain of tasks that alternate between two devices?
// Control:  a launch, an event record, and a wait for this event in the stream of the other device.

#include <cuda.h>

#include "bench_suite.hpp"
#include "control_subject.hpp"
#include "driver/check.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

double hop_raw(std::int64_t hops) {
  auto& plain = get_fixture<plain_driver>({.devices = 2});
  std::vector<plain_driver::launch_target> const& targets = plain.targets(0);
  auto const start = clock::now();
  for (std::int64_t i = 0; i < hops; ++i) {
    plain_driver::launch_target const& here = targets[static_cast<std::size_t>(i % 2)];
    plain_driver::launch_target const& there = targets[static_cast<std::size_t>((i + 1) % 2)];
    plain.push(here);
    plain.launch(here);
    // One event per device is enough, because a wait refers to the last record before the call of
    // cuStreamWaitEvent.
    plain.record(here);
    driver::check(plain.api().stream_wait_event(there.stream, here.event, 0), "cuStreamWaitEvent",
                  control_subject);
    plain.pop();
  }
  plain.synchronize_all(0);
  return ns_each(start, hops);
}

}  // namespace

void add_pingpong(bench_suite& suite) {
  std::int64_t const hops = suite.amount().raw / 4;
  figure_tags tags{.who = "flotilla", .what = "pingpong", .devices = 2, .backlog = hops};
  suite.measure("flotilla, ping-pong", tags, [=](figure&) {
    need_devices(2);
    auto& fixture = get_fixture<runtime_fixture>({.devices = 2, .workers = workers_for(2)});
    auto const start = clock::now();
    ticket last = fixture.rt.submit(fixture.null_launch, {.device = device_ordinal{0}});
    for (std::int64_t i = 1; i < hops; ++i) {
      last = fixture.rt.submit(
          fixture.null_launch,
          {.device = device_ordinal{static_cast<unsigned>(i % 2)}, .after = {last}});
    }
    last.wait();
    return ns_each(start, hops);
  });
  tags.who = "raw launches and events";
  suite.measure("raw launches and events, ping-pong", tags, [=](figure&) {
    need_devices(2);
    return hop_raw(hops);
  });
  suite.compare({.id = "pingpong",
                 .subject = "flotilla, ping-pong",
                 .control = "launch + event record + wait",
                 .controls = {"raw launches and events, ping-pong"},
                 .max_ratio = 1.1});
}

}  // namespace flotilla::bench
