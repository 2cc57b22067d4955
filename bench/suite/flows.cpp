// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task of a flow cost, until it is done, and in the call alone? Each task
// runs
//           an empty kernel, writes data of 128 bytes and reads three other data.
//           The same with flow::repeat, whose iteration is a task for each of the data.
// Control:  the same tasks without a flow: the program names the addresses, and states the
//           predecessors that the flow infers.

#include <algorithm>
#include <array>
#include <vector>

#include <bench_kernels.hpp>
#include <flotilla/data/flow.hpp>

#include "bench_suite.hpp"
#include "burst.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

using word = unsigned long long;
constexpr std::size_t count = 256;  // number of data
constexpr std::size_t words_each = 16;

/// The data that the i-th task uses: it writes the first and reads the others.
constexpr std::array<std::size_t, 4> used_by(std::int64_t i) noexcept {
  auto const at = static_cast<std::size_t>(i);
  return {at % count, (at + 7) % count, (at + 19) % count, (at + 101) % count};
}

/// Submits tasks of a flow.
class flow_tasks {
 public:
  explicit flow_tasks(runtime& rt)
      : program_{rt.load(bench_kernels)},
        kernel_{program_.kernel(bench_kernels.use_four)},
        flow_{rt} {
    for (std::size_t i = 0; i < count; ++i) {
      data<word>& made = data_.emplace_back(flow_, std::array<std::size_t, 1>{words_each});
      static_cast<void>(made.host_for_update());
    }
  }
  /// Brings all data to the devices that use them.
  void prefetch(int devices) {
    for (data<word>& each : data_) {
      for (int i = 0; i < devices; ++i) {
        each.prefetch_to(device_ordinal{static_cast<unsigned>(i)});
      }
    }
  }
  void post(std::int64_t i, task_options const& options = {}) {
    auto const [to, a, b, c] = used_by(i);
    flow_.post(kernel_.with_shape({1}, {32})(write(data_[to]), read(data_[a]), read(data_[b]),
                                             read(data_[c])),
               options);
  }
  /// Posts the tasks once for each of the data, `rounds` times.
  void repeat(std::int64_t rounds) {
    flow_.repeat(static_cast<std::size_t>(rounds), [this] {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) { post(i); }
    });
  }

 private:
  program program_;
  kernel<word*, word const*, word const*, word const*> kernel_;
  flow flow_;
  std::vector<data<word>> data_;
};

/// Submits the same tasks to the first device, with addresses and `after`.
class plain_tasks {
 public:
  explicit plain_tasks(runtime& rt)
      : rt_{rt},
        program_{rt.load(bench_kernels)},
        kernel_{program_.kernel(bench_kernels.use_four)},
        memory_{rt, device_ordinal{0}, count * words_each},
        writers_(count),
        readers_(count) {}
  void submit(std::int64_t i) {
    auto const [to, a, b, c] = used_by(i);
    task_options options;
    options.device = device_ordinal{0};
    for (std::size_t const each : {to, a, b, c}) {
      if (writers_[each].valid()) { options.after.add(writers_[each]); }
    }
    for (task_id const& each : readers_[to]) { options.after.add(each); }
    ticket made =
        rt_.submit(kernel_.with_shape({1}, {32})(part(to), part(a), part(b), part(c)), options);
    readers_[to].clear();
    for (std::size_t const each : {a, b, c}) { readers_[each].push_back(made.id()); }
    writers_[to] = std::move(made);
  }

 private:
  [[nodiscard]] device_span<word> part(std::size_t i) {
    return memory_.subspan(i * words_each, words_each);
  }

  runtime& rt_;
  program program_;
  kernel<word*, word const*, word const*, word const*> kernel_;
  device_buffer<word> memory_;
  std::vector<ticket> writers_;                // of each part
  std::vector<std::vector<task_id>> readers_;  // since then
};

void measure_flow(bench_suite& suite, int devices) {
  std::int64_t const tasks = std::min<std::int64_t>(suite.amount().flood, 100'000);
  suite.measure("flotilla, a flow, " + std::to_string(devices) + " devices",
                {.who = "flotilla, a flow", .what = "flow", .devices = devices}, [=](figure&) {
                  need_devices(devices);
                  auto& fixture = get_fixture<runtime_fixture>({.devices = devices});
                  flow_tasks all{fixture.rt};
                  all.prefetch(devices);
                  fixture.rt.wait_idle();
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < tasks; ++i) { all.post(i); }
                  fixture.rt.wait_idle();
                  return ns_each(start, tasks);
                });
}

}  // namespace

void add_flows(bench_suite& suite) {
  std::int64_t const tasks = std::min<std::int64_t>(suite.amount().flood, 100'000);
  for (int const devices : {1, 2}) { measure_flow(suite, devices); }
  suite.measure("flotilla, addresses and predecessors", {.who = "flotilla", .what = "flow"},
                [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({});
                  plain_tasks all{fixture.rt};
                  auto const start = clock::now();
                  for (std::int64_t i = 0; i < tasks; ++i) { all.submit(i); }
                  fixture.rt.wait_idle();
                  return ns_each(start, tasks);
                });
  suite.measure("flotilla, a flow that repeats",
                {.who = "flotilla, a flow that repeats", .what = "flow"}, [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({});
                  flow_tasks all{fixture.rt};
                  all.prefetch(1);
                  fixture.rt.wait_idle();
                  auto const each = static_cast<std::int64_t>(count);
                  std::int64_t const rounds = std::max<std::int64_t>(1, tasks / each);
                  auto const start = clock::now();
                  all.repeat(rounds);
                  fixture.rt.wait_idle();
                  return ns_each(start, rounds * each);
                });
  suite.measure("flotilla, a flow, submit alone",
                {.who = "flotilla, a flow", .what = "submit", .backlog = burst}, [=](figure&) {
                  auto& fixture = get_fixture<runtime_fixture>({.workers = 0});
                  flow_tasks all{fixture.rt};
                  all.prefetch(1);
                  fixture.rt.wait_idle();
                  std::int64_t const bursts = std::max<std::int64_t>(1, tasks / burst);
                  double seconds = 0;
                  for (std::int64_t i = 0; i < bursts; ++i) {
                    auto const start = clock::now();
                    for (std::int64_t k = 0; k < burst; ++k) {
                      all.post(i * burst + k, {.device = device_ordinal{0}});
                    }
                    seconds += seconds_since(start);
                    fixture.rt.wait_idle();
                  }
                  return seconds * 1e9 / static_cast<double>(bursts * burst);
                });
  suite.compare({.id = "flow_3",
                 .subject = "flotilla, a flow, 1 devices",
                 .control = "addresses and predecessors by hand",
                 .controls = {"flotilla, addresses and predecessors"},
                 .max_value = 400});
  suite.compare({.id = "flow_3_2gpu",
                 .subject = "flotilla, a flow, 2 devices",
                 .control = "one device",
                 .controls = {"flotilla, a flow, 1 devices"},
                 .max_value = 600});
  suite.compare({.id = "flow_repeat",
                 .subject = "flotilla, a flow that repeats",
                 .control = "submitted each time",
                 .controls = {"flotilla, a flow, 1 devices"},
                 .max_ratio = 0.5});
  suite.compare({.id = "flow_submit",
                 .subject = "flotilla, a flow, submit alone",
                 .control = "submit alone",
                 .controls = {"flotilla, submit alone"},
                 .max_value = 150});
}

}  // namespace flotilla::bench
