// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: in a flood of 100 us kernels, how long after the end of a kernel does its ticket become
//           ready?
// Control:  the allowed time, which is twice the running time of the kernel.
//
// The first thousand tasks of a pass are not counted, because flotilla learns the running time of
// the kernel during these tasks.
//
// Each kernel writes the time of its end. The GPU and the host have different clocks, so each pass
// measures the difference between the two clocks. For this measurement, the pass runs lone kernels,
// because the host sees the end of a lone kernel within a few microseconds.

#include <atomic>
#include <limits>

#include <bench_kernels.hpp>

#include "bench_suite.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

constexpr unsigned long long kernel_ns = 100'000;
constexpr double allowed_ns = 2 * kernel_ns;
constexpr std::size_t learning_tasks = 1000;
/// Only every 16th ticket is polled, because polling all tickets would take too long.
constexpr std::size_t watch_interval = 16;

using stamp_kernel = kernel<unsigned long long, unsigned long long*, unsigned*>;

double host_ns(clock::time_point time) {
  return std::chrono::duration<double, std::nano>(time.time_since_epoch()).count();
}

/// Returns how far the clock of the device is ahead of the clock of the host, in ns.
double clock_offset(runtime& rt, stamp_kernel::configured const& stamp, unsigned long long* when,
                    unsigned* where) {
  double shortest = std::numeric_limits<double>::infinity();
  double offset = 0;
  for (int i = 0; i < 50; ++i) {
    double const before = host_ns(clock::now());
    rt.submit(stamp(0ull, when, where), {.device = device_ordinal{0}}).wait(wait_policy::spin);
    double const after = host_ns(clock::now());
    if (after - before < shortest) {
      shortest = after - before;
      offset = static_cast<double>(*when) - (before + after) / 2;
    }
  }
  return offset;
}

/// Polls the tickets. @return the time when each ticket became ready, in ns of the host's clock.
std::vector<double> watch(std::vector<ticket> const& tickets,
                          std::atomic<std::size_t> const& submitted,
                          std::atomic<bool> const& failed) {
  std::vector<double> seen(tickets.size(), 0);
  std::size_t first = 0;  // all tickets before this index are ready
  while (first < tickets.size() && !failed) {
    // acquire: pairs with the release in one_pass(), which stores a ticket before it increases
    // `submitted`
    std::size_t const end = submitted.load(std::memory_order_acquire);
    for (std::size_t i = first; i < end; ++i) {
      if (seen[i] == 0 && tickets[i].ready()) { seen[i] = host_ns(clock::now()); }
    }
    while (first < end && seen[first] != 0) { ++first; }
  }
  return seen;
}

double one_pass(figure& result, std::size_t tasks) {
  auto& fixture = get_fixture<runtime_fixture>({.producers = 2});
  program const stamping = fixture.rt.load(bench_kernels);
  auto const stamp =
      stamping.kernel<unsigned long long, unsigned long long*, unsigned*>("stamp").with_shape({1},
                                                                                              {1});
  host_buffer<unsigned long long> when{fixture.rt, tasks};
  host_buffer<unsigned> where{fixture.rt, tasks};
  double const offset = clock_offset(fixture.rt, stamp, when.data(), where.data());

  std::vector<ticket> watched(tasks / watch_interval);
  std::atomic<std::size_t> submitted{0};
  // Set when one of the two threads fails, so that the other thread stops.
  std::atomic<bool> failed{false};
  std::vector<double> seen;
  auto const submit_all = [&] {
    for (std::size_t i = 0; i < tasks; ++i) {
      ticket task = fixture.rt.submit(stamp(kernel_ns, when.data() + i, where.data() + i));
      if (i % watch_interval == watch_interval - 1) {
        watched[i / watch_interval] = std::move(task);
        submitted.store(i / watch_interval + 1, std::memory_order_release);
      }
    }
  };
  auto const start = clock::now();
  fixture.producers.run([&](int member) {
    try {
      if (member == 0) {
        submit_all();
      } else {
        seen = watch(watched, submitted, failed);
      }
    } catch (...) {
      failed = true;
      throw;
    }
  });
  fixture.rt.wait_idle();
  double const ns = ns_each(start, static_cast<std::int64_t>(tasks));
  for (std::size_t i = tasks > 2 * learning_tasks ? learning_tasks / watch_interval : 0;
       i < watched.size(); ++i) {
    double const end = static_cast<double>(when[i * watch_interval + watch_interval - 1]) - offset;
    // The clock offset has an error of about a microsecond, so the difference may be negative.
    result.samples.push_back(std::max(0.0, seen[i] - end));
  }
  return ns;
}

}  // namespace

void add_lateness(bench_suite& suite) {
  double const at_once = suite.on_gpus() ? 16 : 1;
  auto const fit =
      static_cast<std::size_t>(suite.amount().kernel_seconds * 1e9 / kernel_ns * at_once);
  std::size_t const tasks = std::max<std::size_t>(2, fit / watch_interval) * watch_interval;
  suite.measure("flotilla, from a kernel's end to its being seen",
                {.who = "flotilla",
                 .what = "lateness",
                 .backlog = static_cast<std::int64_t>(tasks),
                 .length_us = kernel_ns / 1e3},
                [=](figure& result) { return one_pass(result, tasks); });
  suite.compare({.id = "lateness",
                 .subject = "flotilla, from a kernel's end to its being seen",
                 .of = statistic::p99,
                 .control = "twice the kernel's length, at least 50 us",
                 .constant_ns = allowed_ns,
                 .max_ratio = 1});
}

}  // namespace flotilla::bench
