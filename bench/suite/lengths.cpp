// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task cost in a flood of one-block kernels that take 1 to 100 us? And what
//           does it cost in a flood of kernels that fill the device for 1 ms?
// Controls: for the short kernels, graphs of 32 nodes without flotilla. Each graph is rewritten
//           before each launch. Several graph shapes are measured, because no shape is the best for
//           all running times. For the kernels of 1 ms, launches into one stream.

#include <algorithm>
#include <cmath>

#include "bench_suite.hpp"
#include "machine.hpp"
#include "plain_chains.hpp"
#include "plain_driver.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

constexpr int lengths_us[] = {1, 2, 5, 20, 100};
constexpr int chain_nodes = 32;

struct chains {
  int width, streams;
};
constexpr chains shapes[] = {{1, 8}, {1, 32}, {4, 8}, {4, 32}};

std::string name_of(chains const& shape) {
  return "chains of 32, width " + std::to_string(shape.width) + ", " +
         std::to_string(shape.streams) + " streams";
}

std::string at_length(std::string const& who, int length_us) {
  return who + ", " + std::to_string(length_us) + " us";
}

/// The number of tasks in a pass. A GPU runs many of these kernels at the same time, a CPU device
/// only one.
std::int64_t tasks_of(bench_suite const& suite, int length_us) {
  double const at_once = suite.on_gpus() ? 16 : 1;
  auto const fit =
      static_cast<std::int64_t>(suite.amount().kernel_seconds * 1e6 / length_us * at_once);
  std::int64_t const tasks = std::min(fit, suite.amount().flood);
  // A multiple of 32 batches, so that each stream gets the same number of batches in every shape.
  return std::max<std::int64_t>(1, tasks / (chain_nodes * 32)) * chain_nodes * 32;
}

void add_flotilla(bench_suite& suite, int length_us, unsigned threads) {
  std::int64_t const tasks = tasks_of(suite, length_us);
  suite.measure(at_length("flotilla", length_us),
                {.who = "flotilla",
                 .what = "length",
                 .backlog = tasks,
                 .length_us = static_cast<double>(length_us)},
                [=](figure& result) {
                  auto& fixture = get_fixture<runtime_fixture>({});
                  std::uint64_t const batches = fixture.rt.counters(device_ordinal{0}).batches;
                  launch const spin = fixture.kernels.kernel<unsigned long long>("spin").with_shape(
                      {1}, {threads})(static_cast<unsigned long long>(length_us) * 1000);
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < tasks; ++i) {
                    static_cast<void>(fixture.rt.submit(spin));
                  }
                  fixture.rt.wait_idle();
                  double const each = ns_each(start, tasks);
                  auto const launched = fixture.rt.counters(device_ordinal{0}).batches - batches;
                  result.note = std::to_string(tasks / static_cast<std::int64_t>(
                                                           std::max<std::uint64_t>(1, launched))) +
                                " tasks a batch";
                  return each;
                });
}

void add_chains(bench_suite& suite, chains const& shape, int length_us, unsigned threads) {
  std::int64_t const tasks = tasks_of(suite, length_us);
  suite.measure(at_length(name_of(shape), length_us),
                {.who = name_of(shape),
                 .what = "length",
                 .backlog = tasks,
                 .length_us = static_cast<double>(length_us)},
                [=](figure&) {
                  auto& plain = get_fixture<plain_chains>(
                      {.nodes = chain_nodes, .width = shape.width, .streams = shape.streams});
                  auto const start = clock::now();
                  plain.rewrite(tasks / chain_nodes, threads,
                                static_cast<unsigned long long>(length_us) * 1000);
                  return ns_each(start, tasks);
                });
}

/// Adds the figures of kernels that fill the device. A GPU needs two blocks of 1024 threads on each
/// multiprocessor. A CPU device needs one thread.
void add_full(bench_suite& suite) {
  constexpr unsigned long long millisecond_ns = 1'000'000;
  unsigned const blocks =
      suite.on_gpus() ? 2 * static_cast<unsigned>(machine().devices[0].multiprocessors) : 1;
  unsigned const threads = suite.on_gpus() ? 1024 : 1;
  auto const tasks = std::max<std::int64_t>(4, std::llround(suite.amount().kernel_seconds * 1e3));
  figure_tags tags{.who = "flotilla", .what = "full", .backlog = tasks, .length_us = 1000};
  suite.measure("flotilla, 1 ms on the whole device", tags, [=](figure&) {
    auto& fixture = get_fixture<runtime_fixture>({});
    launch const spin = fixture.kernels.kernel<unsigned long long>("spin").with_shape(
        {blocks}, {threads})(millisecond_ns);
    auto const start = clock::now();
    for (std::int64_t i = 0; i < tasks; ++i) { static_cast<void>(fixture.rt.submit(spin)); }
    fixture.rt.wait_idle();
    return ns_each(start, tasks);
  });
  tags.who = "raw launches";
  suite.measure("raw launches, 1 ms on the whole device", tags, [=](figure&) {
    auto& plain = get_fixture<plain_driver>({});
    plain_driver::launch_target const& target = plain.targets(0).front();
    auto const start = clock::now();
    plain.push(target);
    for (std::int64_t i = 0; i < tasks; ++i) {
      plain.spin(target, blocks, threads, millisecond_ns);
    }
    plain.synchronize(target);
    plain.pop();
    return ns_each(start, tasks);
  });
  suite.compare({.id = "full_1ms",
                 .subject = "flotilla, 1 ms on the whole device",
                 .control = "launches into one stream",
                 .controls = {"raw launches, 1 ms on the whole device"},
                 .max_ratio = 1.01});
}

}  // namespace

void add_lengths(bench_suite& suite) {
  unsigned const threads = suite.on_gpus() ? 32 : 1;
  for (int const length : lengths_us) { add_flotilla(suite, length, threads); }
  for (chains const& shape : shapes) {  // the outer loop, because each shape needs a new fixture
    for (int const length : lengths_us) { add_chains(suite, shape, length, threads); }
  }
  for (int const length : lengths_us) {
    std::vector<std::string> controls;
    for (chains const& shape : shapes) { controls.push_back(at_length(name_of(shape), length)); }
    suite.compare({.id = "length_" + std::to_string(length) + "us",
                   .subject = at_length("flotilla", length),
                   .control = "best chains",
                   .controls = controls,
                   .max_ratio = 1.4});
    if (length >= 20) {
      suite.compare({.id = "wide_" + std::to_string(length) + "us",
                     .subject = at_length("flotilla", length),
                     .control = "best chains",
                     .controls = controls,
                     .max_ratio = 0.1});
    }
  }
  add_full(suite);
}

}  // namespace flotilla::bench
