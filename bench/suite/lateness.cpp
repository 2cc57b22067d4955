// Question: in a flood of 100 us kernels, how long after a kernel's end is the end seen?
// Control:  twice the kernel's length, at least 50 us: what is allowed.
//
// The first thousand of a pass do not count: what a kernel takes is not known before some have run.
//
// Each kernel writes the time of its end. A GPU's clock is not the host's: how far they are apart
// is taken anew for each pass, from lone kernels that end at a time that the host knows within some
// microseconds.

#include <atomic>
#include <limits>

#include <bench_kernels.hpp>

#include "fleet.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

constexpr unsigned long long kernel_ns = 100'000;
constexpr double allowed_ns = 2 * kernel_ns;
constexpr std::size_t unknown = 1000;
constexpr std::size_t every =
    16;  // one task in so many is watched: looking at all would take too long

using stamp_kernel = kernel<unsigned long long, unsigned long long*, unsigned*>;

double host_ns(clock::time_point at) {
  return std::chrono::duration<double, std::nano>(at.time_since_epoch()).count();
}

/// What the device's clock is ahead of the host's, in ns.
double clock_offset(runtime& rt, stamp_kernel::widened const& stamp, unsigned long long* when,
                    unsigned* where) {
  double shortest = std::numeric_limits<double>::infinity();
  double offset = 0;
  for (int i = 0; i < 50; ++i) {
    double const before = host_ns(clock::now());
    rt.submit(stamp(0ull, when, where), {.device = device_ordinal{0}}).wait(schedule::spin);
    double const after = host_ns(clock::now());
    if (after - before < shortest) {
      shortest = after - before;
      offset = static_cast<double>(*when) - (before + after) / 2;
    }
  }
  return offset;
}

/// Says of each ticket when it was seen to be ready, in ns of the host's clock.
std::vector<double> watch(std::vector<ticket> const& tickets, std::atomic<std::size_t> const& there,
                          std::atomic<bool> const& failed) {
  std::vector<double> seen(tickets.size(), 0);
  std::size_t first = 0;  // all before have been seen
  while (first < tickets.size() && !failed) {
    // acquire: pairs with the release of the producer: the tickets before have been stored
    std::size_t const end = there.load(std::memory_order_acquire);
    for (std::size_t i = first; i < end; ++i) {
      if (seen[i] == 0 && tickets[i].ready()) { seen[i] = host_ns(clock::now()); }
    }
    while (first < end && seen[first] != 0) { ++first; }
  }
  return seen;
}

double one_pass(figure& at, std::size_t tasks) {
  auto& ships = rig_for<fleet>({.producers = 2});
  program const stamping = ships.rt.load(bench_kernels);
  auto const stamp =
      stamping.kernel<unsigned long long, unsigned long long*, unsigned*>("stamp").on({1}, {1});
  host_buffer<unsigned long long> const when{ships.rt, tasks};
  host_buffer<unsigned> const where{ships.rt, tasks};
  double const offset = clock_offset(ships.rt, stamp, when.data(), where.data());

  std::vector<ticket> watched(tasks / every);
  std::atomic<std::size_t> there{0};
  std::atomic<bool> failed{false};  // tickets that will never come are not watched for
  std::vector<double> seen;
  auto const submit_all = [&] {
    for (std::size_t i = 0; i < tasks; ++i) {
      ticket made = ships.rt.submit(stamp(kernel_ns, when.data() + i, where.data() + i));
      if (i % every == every - 1) {
        watched[i / every] = std::move(made);
        there.store(i / every + 1, std::memory_order_release);
      }
    }
  };
  auto const start = clock::now();
  ships.producers.run([&](int member) {
    try {
      if (member == 0) {
        submit_all();
      } else {
        seen = watch(watched, there, failed);
      }
    } catch (...) {
      failed = true;
      throw;
    }
  });
  ships.rt.wait_idle();
  double const ns = ns_each(start, static_cast<std::int64_t>(tasks));
  for (std::size_t i = tasks > 2 * unknown ? unknown / every : 0; i < watched.size(); ++i) {
    double const end = static_cast<double>(when[i * every + every - 1]) - offset;
    at.each.push_back(
        std::max(0.0, seen[i] - end));  // the offset is known within a microsecond or so
  }
  return ns;
}

}  // namespace

void add_lateness(suite& to) {
  double const at_once = to.on_gpus() ? 16 : 1;
  auto const fit = static_cast<std::size_t>(to.amount().kernel_seconds * 1e9 / kernel_ns * at_once);
  std::size_t const tasks = std::max<std::size_t>(2, fit / every) * every;
  to.measure("flotilla, from a kernel's end to its being seen",
             {.who = "flotilla",
              .what = "lateness",
              .backlog = static_cast<std::int64_t>(tasks),
              .length_us = kernel_ns / 1e3},
             [=](figure& at) { return one_pass(at, tasks); });
  to.compare({.id = "lateness",
              .subject = "flotilla, from a kernel's end to its being seen",
              .of = statistic::p99,
              .control = "twice the kernel's length, at least 50 us",
              .constant_ns = allowed_ns,
              .most_ratio = 1});
}

}  // namespace flotilla::bench
