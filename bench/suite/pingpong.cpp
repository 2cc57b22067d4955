// Question: what does a hop cost when each task of a chain is on the other of two devices?
// Control:  launch, record an event, let the other device's stream wait for it.

#include <cuda.h>

#include "driver/check.hpp"
#include "fleet.hpp"
#include "machine.hpp"
#include "plain_driver.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

double hop_raw(std::int64_t hops) {
  auto& plain = rig_for<plain_driver>({.devices = 2});
  std::vector<plain_driver::post> const& posts = plain.posts(0);
  auto const start = clock::now();
  for (std::int64_t i = 0; i < hops; ++i) {
    plain_driver::post const& here = posts[static_cast<std::size_t>(i % 2)];
    plain_driver::post const& there = posts[static_cast<std::size_t>((i + 1) % 2)];
    plain.push(here);
    plain.launch(here);
    // One event a device is enough: a wait is for the record before it, whatever is recorded later.
    plain.record(here);
    driver::check(plain.api().stream_wait_event(there.stream, here.event, 0), "cuStreamWaitEvent",
                  "the control of a bench");
    plain.pop();
  }
  plain.synchronize_all(0);
  return ns_each(start, hops);
}

}  // namespace

void add_pingpong(suite& to) {
  std::int64_t const hops = to.amount().raw / 4;
  figure_tags tags{.who = "flotilla", .what = "pingpong", .devices = 2, .backlog = hops};
  to.measure("flotilla, ping-pong", tags, [=](figure&) {
    need_devices(2);
    auto& ships = rig_for<fleet>({.devices = 2, .workers = workers_for(2)});
    auto const start = clock::now();
    ticket last = ships.rt.submit(ships.null, {.device = device_ordinal{0}});
    for (std::int64_t i = 1; i < hops; ++i) {
      last = ships.rt.submit(
          ships.null, {.device = device_ordinal{static_cast<unsigned>(i % 2)}, .after = {last}});
    }
    last.wait();
    return ns_each(start, hops);
  });
  tags.who = "raw launches and events";
  to.measure("raw launches and events, ping-pong", tags, [=](figure&) {
    need_devices(2);
    return hop_raw(hops);
  });
  to.compare({.id = "pingpong",
              .subject = "flotilla, ping-pong",
              .control = "launch + event record + wait",
              .controls = {"raw launches and events, ping-pong"},
              .most_ratio = 1.1});
}

}  // namespace flotilla::bench
