// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a task cost in a flood of launches of eight kernels in turn, with grids of 1
//           to 64 blocks?
// Control:  the same launches as a graph of 64 chains that is relaunched unchanged.

#include <algorithm>
#include <vector>

#include <bench_kernels.hpp>
#include <flotilla/flotilla.hpp>

#include "bench_suite.hpp"
#include "machine.hpp"
#include "mixed_graph.hpp"
#include "mixed_tasks.hpp"

namespace flotilla::bench {

namespace {

/// A runtime that runs the tasks. Each task writes its own words.
class mixed_runtime final : public cached_fixture {
 public:
  struct options {
    std::size_t tasks = 0;
    bool operator==(options const&) const = default;
  };
  explicit mixed_runtime(options const& wanted) : created_with{wanted} {
    // The kernels are loaded once: flotilla learns how long a kernel runs, and would have to learn
    // it again after each load.
    program const kernels = rt_.load(bench_kernels);
    for (char const* const name : mixed_tasks::names) {
      kernels_.push_back(kernels.kernel<unsigned*, unsigned>(name));
    }
  }

  void clear() { rt_.submit(words_.fill(0)).wait(); }
  void run() {
    task_options const how{.device = device_ordinal{0}};
    unsigned* out = words_.data();
    for (std::size_t i = 0; i < tasks_.count(); ++i, out += mixed_tasks::max_blocks) {
      static_cast<void>(
          rt_.submit(kernels_[mixed_tasks::kernel(i)].with_shape(
                         {tasks_.blocks(i)}, {mixed_tasks::threads})(out, mixed_tasks::value(i)),
                     how));
    }
    rt_.wait_idle();
  }
  /// Checks what the tasks wrote. @throws std::runtime_error
  void check_words() {
    std::vector<unsigned> words(words_.size());
    rt_.submit(words_.copy_to(words)).wait();
    tasks_.check(words, "flotilla");
  }

  options const created_with;

 private:
  runtime rt_{{.devices = first_devices(1), .workers = 1}};
  mixed_tasks const tasks_{created_with.tasks};
  std::vector<kernel<unsigned*, unsigned>> kernels_;
  device_buffer<unsigned> words_{rt_, device_ordinal{0}, tasks_.words()};
};

}  // namespace

void add_mixed(bench_suite& suite) {
  // A CPU device needs a fraction of a microsecond for each of the 32 blocks of an average task.
  std::int64_t const tasks =
      std::min<std::int64_t>(suite.amount().raw, suite.on_gpus() ? 32768 : 8192);
  std::int64_t const nodes = std::min<std::int64_t>(tasks, 4096);
  figure_tags tags{.who = "flotilla", .what = "mixed", .backlog = tasks};
  suite.measure("flotilla, eight kernels in turn", tags, [=](figure&) {
    auto& fixture = get_fixture<mixed_runtime>({.tasks = static_cast<std::size_t>(tasks)});
    fixture.clear();
    auto const start = clock::now();
    fixture.run();
    double const each = ns_each(start, tasks);
    fixture.check_words();
    return each;
  });
  tags.who = "relaunched graph";
  suite.measure("relaunched graph of eight kernels in turn", tags, [=](figure&) {
    auto& graph = get_fixture<mixed_graph>({.nodes = static_cast<std::size_t>(nodes)});
    auto const start = clock::now();
    graph.relaunch(tasks / nodes);
    double const each = ns_each(start, tasks);
    graph.check_words();
    return each;
  });
  suite.compare({.id = "mixed",
                 .subject = "flotilla, eight kernels in turn",
                 .control = "the same as a relaunched graph of 64 chains",
                 .controls = {"relaunched graph of eight kernels in turn"},
                 .max_ratio = 0.5});
}

}  // namespace flotilla::bench
