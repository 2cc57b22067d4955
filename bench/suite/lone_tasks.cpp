// Question: how long does one task, or do eight at once, take from submit until their submitter
//           knows that they have run; and while a large copy to pageable memory goes on beside?
// Control:  as many launches and cuStreamSynchronize, the context set to spin; without the copy.

#include <array>
#include <optional>

#include <flotilla/settings.hpp>

#include "fleet.hpp"
#include "plain_driver.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

/// As a program gets it that says nothing of workers.
fleet::shape const spinning{.workers = 1, .schedule = schedule::spin};

/// The median of what was added to `at.each` behind its first `before`.
double middle_since(figure const& at, std::size_t before) {
  figure const these{
      .name = {},
      .of = {},
      .each = {at.each.begin() + static_cast<std::ptrdiff_t>(before), at.each.end()}};
  return these.quantile(0.5);
}

template <class Task>
void time_one(figure& at, Task const& task) {
  auto const start = clock::now();
  task();
  at.each.push_back(seconds_since(start) * 1e9);
}

/// Times each call of `task` by itself, into `at`. Returns their median.
template <class Task>
double time_each(figure& at, std::int64_t times, Task const& task) {
  std::size_t const before = at.each.size();
  at.each.reserve(before + static_cast<std::size_t>(times));  // no allocation between tasks
  for (std::int64_t i = 0; i < times; ++i) { time_one(at, task); }
  return middle_since(at, before);
}

void lone_task(fleet& ships) { ships.rt.submit(ships.null, {.device = device_ordinal{0}}).wait(); }

double beside_a_copy(figure& at, std::size_t bytes, std::size_t most) {
  auto& ships = rig_for<fleet>(spinning);
  device_buffer<std::byte> const from{ships.rt, device_ordinal{0}, bytes};
  std::vector<std::byte> to(bytes);  // written to, and so present before the copy
  std::size_t const before = at.each.size();
  at.each.reserve(before + most);
  // Again where this thread was kept from its processor until the copy was over.
  for (int tries = 0; tries < 10 && at.each.size() == before; ++tries) {
    ticket const copy = ships.rt.submit(from.copy_to(std::span<std::byte>{to}));
    while (!copy.ready() && at.each.size() < before + most) {
      time_one(at, [&] { lone_task(ships); });
    }
    copy.wait();
  }
  if (at.each.size() == before) {
    throw not_here{"the copy was over before a task could be submitted"};
  }
  return middle_since(at, before);
}

void add_lone(suite& to) {
  std::int64_t const times = to.amount().lone;
  for (int const workers : {0, 1}) {
    bool const alone = workers == 0;
    to.measure(alone ? "flotilla, lone task, no workers" : "flotilla, lone task",
               {.who = alone ? "flotilla, no workers" : "flotilla", .what = "lone", .backlog = 1},
               [=](figure& at) {
                 auto& ships = rig_for<fleet>({.workers = workers, .schedule = schedule::spin});
                 return time_each(at, times, [&] { lone_task(ships); });
               });
  }
  std::size_t const bytes = to.amount().copy_bytes;
  to.measure("flotilla, lone task beside a copy",
             {.who = "flotilla, a copy beside", .what = "lone", .backlog = 1},
             [=](figure& at) { return beside_a_copy(at, bytes, 100'000); });
  to.measure("raw launch and synchronize",
             {.who = "raw launch and synchronize", .what = "lone", .backlog = 1}, [=](figure& at) {
               auto& plain = rig_for<plain_driver>({.schedule = schedule::spin});
               plain_driver::post const& where = plain.posts(0).front();
               plain.push(where);
               double const ns = time_each(at, times, [&] {
                 plain.launch(where);
                 plain.synchronize(where);
               });
               plain.pop();
               return ns;
             });
  for (statistic const of : {statistic::p50, statistic::p99}) {
    to.compare({.id = "lone_spin",
                .subject = "flotilla, lone task",
                .of = of,
                .control = "launch + cuStreamSynchronize, spin",
                .controls = {"raw launch and synchronize"},
                .most_ratio = 1});
  }
  to.compare({.id = "copy_beside",
              .subject = "flotilla, lone task beside a copy",
              .of = statistic::p99,
              .control = "lone_spin",
              .controls = {"flotilla, lone task"},
              .most_ratio = 2});
}

void add_eight(suite& to) {
  constexpr int tasks = 8;
  std::int64_t const times = to.amount().lone;
  to.measure("flotilla, eight tasks", {.who = "flotilla", .what = "eight", .backlog = tasks},
             [=](figure& at) {
               auto& ships = rig_for<fleet>(spinning);
               std::array<ticket, tasks> held;
               return time_each(at, times, [&] {
                 for (ticket& each : held) {
                   each = ships.rt.submit(ships.null, {.device = device_ordinal{0}});
                 }
                 for (ticket const& each : held) { each.wait(); }
               });
             });
  to.measure("eight raw launches and synchronize",
             {.who = "raw launches and synchronize", .what = "eight", .backlog = tasks},
             [=](figure& at) {
               auto& plain = rig_for<plain_driver>({.schedule = schedule::spin});
               plain_driver::post const& where = plain.posts(0).front();
               plain.push(where);
               double const ns = time_each(at, times, [&] {
                 for (int i = 0; i < tasks; ++i) { plain.launch(where); }
                 plain.synchronize(where);
               });
               plain.pop();
               return ns;
             });
  to.compare({.id = "eight",
              .subject = "flotilla, eight tasks",
              .of = statistic::p50,
              .control = "8 launches + cuStreamSynchronize",
              .controls = {"eight raw launches and synchronize"},
              .most_ratio = 0.6});
}

}  // namespace

void add_lone_tasks(suite& to) {
  add_lone(to);
  add_eight(to);
}

}  // namespace flotilla::bench
