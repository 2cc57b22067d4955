// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task cost in a replay of a recording? Measured with unchanged arguments and
//           with all arguments changed.
// Control:  a graph with the same kernels in 64 chains, relaunched unchanged without flotilla.

#include <algorithm>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla_kernels.hpp>

#include "allocations.hpp"
#include "bench_suite.hpp"
#include "machine.hpp"
#include "plain_chains.hpp"

namespace flotilla::bench {

namespace {

constexpr int nodes = 1000;

/// A recording of independent kernels. Each kernel writes its own word.
class recorded_stores final : public cached_fixture {
 public:
  struct options {
    int workers = 1;
    bool operator==(options const&) const = default;
  };
  explicit recorded_stores(options const& wanted) : created_with{wanted} {
    for (int i = 0; i < nodes; ++i) { tasks_.push_back(steps_.add(store(i, 0))); }
    steps_.replay().wait();
  }

  /// Replays the recording `replays` times. If `changed` is true, sets all arguments anew before
  /// each replay.
  void run(std::int64_t replays, bool changed) {
    ticket last;
    for (std::int64_t k = 0; k < replays; ++k) {
      for (int i = 0; changed && i < nodes; ++i) {
        steps_.set(tasks_[static_cast<std::size_t>(i)], store(i, static_cast<int>(k)));
      }
      last = steps_.replay();
    }
    last.wait();
  }

  options const created_with;

 private:
  [[nodiscard]] launch store(int index, int value) {
    return store_.with_shape({1}, {32})(words_.data() + index, value);
  }

  runtime rt_{{.devices = first_devices(1), .workers = created_with.workers}};
  kernel<int*, int> store_{rt_.load(flotilla_kernels).kernel<int*, int>("store")};
  device_buffer<int> words_{rt_, device_ordinal{0}, nodes};
  recording steps_{rt_};
  std::vector<recorded_task> tasks_;
};

constexpr char const* control = "relaunched graph of 1000 nodes";

void add_replays(bench_suite& suite, std::string const& name, bool changed) {
  std::int64_t const replays = std::max<std::int64_t>(2, suite.amount().flood / nodes);
  suite.measure(name, {.who = "flotilla", .what = "replay", .backlog = replays * nodes},
                [=](figure&) {
                  auto& recorded = get_fixture<recorded_stores>({});
                  auto const start = clock::now();
                  recorded.run(replays, changed);
                  return ns_each(start, replays * nodes);
                });
}

}  // namespace

void add_replay(bench_suite& suite) {
  std::string const unchanged = "flotilla, replay of 1000 tasks";
  std::string const changed = "flotilla, replay of 1000 tasks, all changed";
  add_replays(suite, unchanged, false);
  add_replays(suite, changed, true);
  std::int64_t const launches = std::max<std::int64_t>(2, suite.amount().flood / nodes);
  suite.measure(control, {.who = "relaunched graph", .what = "replay", .backlog = launches * nodes},
                [=](figure&) {
                  auto& chains = get_fixture<plain_chains>(
                      {.nodes = nodes, .width = 64, .streams = 1, .graphs = 1, .stores = true});
                  auto const start = clock::now();
                  chains.relaunch(launches);
                  return ns_each(start, launches * nodes);
                });
  std::string const allocations = "flotilla, allocations of replays";
  suite.measure(
      allocations, {.who = "flotilla", .what = "allocations", .backlog = nodes},
      [](figure&) {
        // One replay at a time and no workers. Otherwise the number of allocations would vary: each
        // open replay may need its own list of changed arguments, and starting a worker allocates
        // memory.
        auto& recorded = get_fixture<recorded_stores>({.workers = 0});
        for (int i = 0; i < 10; ++i) { recorded.run(1, true); }
        count_allocations();
        for (int i = 0; i < 10; ++i) { recorded.run(1, true); }
        return static_cast<double>(counted_allocations()) / (10.0 * nodes);
      },
      "allocations");
  suite.compare({.id = "replay",
                 .subject = unchanged,
                 .control = control,
                 .controls = {control},
                 .max_ratio = 1.1});
  suite.compare({.id = "replay",
                 .subject = changed,
                 .control = control,
                 .controls = {control},
                 .max_ratio = 1.1,
                 .max_value = 110});
  suite.compare({.id = "replay_fused",
                 .subject = changed,
                 .control = control,
                 .controls = {control},
                 .max_ratio = 0.3});
  suite.compare({.id = "allocations",
                 .subject = allocations,
                 .control = "none",
                 .max_value = 0,
                 .for_gpus = false});
}

}  // namespace flotilla::bench
