// Question: what does a task cost whose kernel takes some microseconds in one block, when there are
//           many of them; and one that fills the device for a millisecond?
// Control:  graph templates of 32 nodes without flotilla, rewritten for each batch, in the shapes
//           that are known to be good at some length; launches into one stream.

#include <algorithm>
#include <cmath>

#include "fleet.hpp"
#include "machine.hpp"
#include "plain_chains.hpp"
#include "plain_driver.hpp"
#include "suite.hpp"

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

/// A GPU runs many of these kernels at once, a CPU device one.
std::int64_t tasks_of(suite const& in, int length_us) {
  double const at_once = in.on_gpus() ? 16 : 1;
  auto const fit =
      static_cast<std::int64_t>(in.amount().kernel_seconds * 1e6 / length_us * at_once);
  std::int64_t const tasks = std::min(fit, in.amount().flood);
  // All shapes get the same number: whole batches for each stream.
  return std::max<std::int64_t>(1, tasks / (chain_nodes * 32)) * chain_nodes * 32;
}

void add_flotilla(suite& to, int length_us, unsigned threads) {
  std::int64_t const tasks = tasks_of(to, length_us);
  to.measure(at_length("flotilla", length_us),
             {.who = "flotilla",
              .what = "length",
              .backlog = tasks,
              .length_us = static_cast<double>(length_us)},
             [=](figure& at) {
               auto& ships = rig_for<fleet>({});
               std::uint64_t const batches = ships.rt.counters(device_ordinal{0}).batches;
               launch const spin = ships.kernels.kernel<unsigned long long>("spin").on(
                   {1}, {threads})(static_cast<unsigned long long>(length_us) * 1000);
               auto const start = clock::now();
               for (std::int64_t i = 0; i < tasks; ++i) {
                 static_cast<void>(ships.rt.submit(spin));
               }
               ships.rt.wait_idle();
               double const each = ns_each(start, tasks);
               auto const launched = ships.rt.counters(device_ordinal{0}).batches - batches;
               at.note = std::to_string(tasks / static_cast<std::int64_t>(std::max<std::uint64_t>(1, launched))) +
                         " tasks a batch";
               return each;
             });
}

void add_chains(suite& to, chains const& shape, int length_us, unsigned threads) {
  std::int64_t const tasks = tasks_of(to, length_us);
  to.measure(at_length(name_of(shape), length_us),
             {.who = name_of(shape),
              .what = "length",
              .backlog = tasks,
              .length_us = static_cast<double>(length_us)},
             [=](figure&) {
               auto& plain = rig_for<plain_chains>(
                   {.nodes = chain_nodes, .width = shape.width, .streams = shape.streams});
               auto const start = clock::now();
               plain.rewrite(tasks / chain_nodes, threads,
                             static_cast<unsigned long long>(length_us) * 1000);
               return ns_each(start, tasks);
             });
}

/// So many blocks that nothing else has room: two of 1024 threads on each multiprocessor of a GPU.
/// A CPU device is full with one thread.
void add_full(suite& to) {
  constexpr unsigned long long millisecond = 1'000'000;
  unsigned const blocks =
      to.on_gpus() ? 2 * static_cast<unsigned>(machine().devices[0].multiprocessors) : 1;
  unsigned const threads = to.on_gpus() ? 1024 : 1;
  auto const tasks = std::max<std::int64_t>(4, std::llround(to.amount().kernel_seconds * 1e3));
  figure_tags tags{.who = "flotilla", .what = "full", .backlog = tasks, .length_us = 1000};
  to.measure("flotilla, 1 ms on the whole device", tags, [=](figure&) {
    auto& ships = rig_for<fleet>({});
    launch const spin =
        ships.kernels.kernel<unsigned long long>("spin").on({blocks}, {threads})(millisecond);
    auto const start = clock::now();
    for (std::int64_t i = 0; i < tasks; ++i) { static_cast<void>(ships.rt.submit(spin)); }
    ships.rt.wait_idle();
    return ns_each(start, tasks);
  });
  tags.who = "raw launches";
  to.measure("raw launches, 1 ms on the whole device", tags, [=](figure&) {
    auto& plain = rig_for<plain_driver>({});
    plain_driver::post const& where = plain.posts(0).front();
    auto const start = clock::now();
    plain.push(where);
    for (std::int64_t i = 0; i < tasks; ++i) { plain.spin(where, blocks, threads, millisecond); }
    plain.synchronize(where);
    plain.pop();
    return ns_each(start, tasks);
  });
  to.compare({.id = "full_1ms",
              .subject = "flotilla, 1 ms on the whole device",
              .control = "launches into one stream",
              .controls = {"raw launches, 1 ms on the whole device"},
              .most_ratio = 1.01});
}

}  // namespace

void add_lengths(suite& to) {
  unsigned const threads = to.on_gpus() ? 32 : 1;
  for (int const length : lengths_us) { add_flotilla(to, length, threads); }
  for (chains const& shape : shapes) {  // a rig each
    for (int const length : lengths_us) { add_chains(to, shape, length, threads); }
  }
  for (int const length : lengths_us) {
    std::vector<std::string> controls;
    for (chains const& shape : shapes) { controls.push_back(at_length(name_of(shape), length)); }
    to.compare({.id = "length_" + std::to_string(length) + "us",
                .subject = at_length("flotilla", length),
                .control = "best chains",
                .controls = controls,
                .most_ratio = 1.4});
  }
  add_full(to);
}

}  // namespace flotilla::bench
