// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: do grids of many tasks slow down kernels that keep the device busy? A task has as many
//           blocks as an eighth of the device runs at a time, or as the whole device runs at a
//           time.
// Control:  the same tasks with runtime_options::fuse_launches = false.
//
// Each pass measures both, one after the other, so that a change of the clock rate affects both.

#include <algorithm>
#include <memory>
#include <vector>

#include "bench_suite.hpp"
#include "cached_fixture.hpp"
#include "filling_tasks.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

/// Two runtimes on one device. While one of them runs tasks, the other one is idle.
class two_runtimes final : public cached_fixture {
 public:
  struct options {
    bool operator==(options const&) const = default;
  };
  explicit two_runtimes(options const& wanted) : created_with{wanted} {}

  options const created_with;
  filling_runtime fused{{.devices = first_devices(1), .workers = 1}};
  filling_runtime unfused{{.devices = first_devices(1), .workers = 1, .fuse_launches = false}};
};

struct outcome {
  double ns;                               // time of a task
  std::vector<unsigned long long> output;  // of a task
  std::int64_t tasks_of_a_batch;
};

outcome run(filling_runtime& with, filling_size const& size, std::string const& who) {
  runtime const& rt = with.rt;
  filling_tasks tasks{with, size};
  tasks.clear();
  std::int64_t const count = size.tasks * size.rounds;
  std::uint64_t const batches = rt.counters(device_ordinal{0}).batches;
  auto const start = clock::now();
  tasks.run();
  double const each = ns_each(start, count);
  auto const launched = static_cast<std::int64_t>(rt.counters(device_ordinal{0}).batches - batches);
  tasks.check(who);
  return {each, tasks.first_output(), count / std::max<std::int64_t>(1, launched)};
}

filling_size size_of(bench_suite const& suite, std::string const& kernel, bool whole) {
  // A multiprocessor of a GPU runs 2048 threads at a time, unless registers limit it. On a CPU
  // device the number of blocks does not matter.
  unsigned const threads = filling_tasks::threads_of(kernel);
  unsigned const at_once =
      suite.on_gpus()
          ? static_cast<unsigned>(machine().devices[0].multiprocessors) * (2048 / threads)
          : 32;
  filling_size size{.kernel = kernel};
  size.blocks = std::max(4u, (whole ? at_once : at_once / 8) / 4 * 4);
  // The outputs need 512 MiB (digests: 128 MiB). The rounds take about 20 ms on an H200.
  std::size_t const bytes = kernel == "sha256" ? std::size_t{128} << 20 : std::size_t{512} << 20;
  std::size_t const fit = bytes / (size.blocks * filling_tasks::bytes_of_a_block(kernel));
  size.tasks = static_cast<std::int64_t>(std::clamp<std::size_t>(fit, 4, 4096));
  size.rounds = kernel == "sgemm" ? 8 : kernel == "sha256" ? 2 : 16;
  if (!suite.on_gpus()) {
    size.tasks = suite.is_quick() ? 4 : kernel == "saxpy" ? 128 : 16;
    size.rounds = suite.is_quick() ? 1 : 2;
  }
  return size;
}

void add_kernel(bench_suite& suite, std::string const& kernel, bool whole) {
  filling_size const size = size_of(suite, kernel, whole);
  std::string const what =
      kernel + (whole ? " on the whole device" : " on an eighth of the device");
  std::string const fused = "flotilla, " + what;
  std::string const unfused = "flotilla without grids, " + what;
  // The first figure measures both, and stores the times of the second one.
  struct stored {
    std::vector<double> passes{};  // all passes, including the warm-up pass
    std::size_t next = 0;
  };
  auto const times = std::make_shared<stored>();
  figure_tags tags{.who = "flotilla", .what = what, .backlog = size.tasks};
  suite.measure(fused, tags, [=](figure& result) {
    auto& both = get_fixture<two_runtimes>({});
    outcome const with_grids = run(both.fused, size, fused);
    outcome const without = run(both.unfused, size, unfused);
    if (with_grids.output != without.output) {
      throw std::runtime_error{"the results differ with and without grids"};
    }
    times->passes.push_back(without.ns);
    result.note = std::to_string(with_grids.tasks_of_a_batch) + " tasks a batch";
    return with_grids.ns;
  });
  tags.who = "flotilla without grids";
  suite.measure(unfused, tags, [=](figure&) {
    if (times->next == times->passes.size()) {
      throw not_available{"the figure with grids was not measured"};
    }
    return times->passes[times->next++];
  });
  suite.compare({.id = "slowdown",
                 .subject = fused,
                 .control = what + ", fuse_launches = false",
                 .controls = {unfused},
                 .max_ratio = 1.03});
}

}  // namespace

void add_slowdown(bench_suite& suite) {
  for (bool const whole : {false, true}) {
    for (char const* const kernel : {"sgemm", "sha256", "saxpy"}) {
      add_kernel(suite, kernel, whole);
    }
  }
}

}  // namespace flotilla::bench
