// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does it cost to make a recording of 16000 tasks? The recording is a stencil: 16
//           steps of 1000 tasks, each of which runs after three tasks of the step before.
// Control:  making and instantiating a CUDA graph of the same kernels.
//
// Each pass also replays the recording (launches the graph) once, and checks the results. That is
// not measured.

#include <memory>
#include <vector>

#include "bench_suite.hpp"
#include "cached_fixture.hpp"
#include "driver_devices.hpp"
#include "flotilla_devices.hpp"
#include "pattern.hpp"
#include "variant.hpp"

namespace flotilla::bench {

namespace {

constexpr std::uint32_t width = 1000;
constexpr std::uint32_t steps = 16;

struct recorded_stencil {
  std::uint32_t steps = 0;
  bool operator==(recorded_stencil const&) const = default;
};

/// Makes a variant of the suite `patterns` for the stencil.
template <class Devices, std::unique_ptr<variant> (*Make)(Devices&)>
class stencil_maker final : public cached_fixture {
 public:
  using options = recorded_stencil;
  explicit stencil_maker(options const& wanted)
      : created_with{wanted},
        graph_{make_graph(pattern_named("stencil_1d"), width, wanted.steps, {}, 1)},
        devices_{create()} {
    devices_->fit(graph_);
  }

  /// Returns the time of a task in ns.
  double measure() {
    // A new variant for each pass, so that no older recording or graph is destroyed meanwhile.
    std::unique_ptr<variant> const made = Make(*devices_);
    if (!made->why_not().empty()) { throw not_available{made->why_not()}; }
    auto const start = clock::now();
    made->prepare(graph_);
    double const each = ns_each(start, static_cast<std::int64_t>(graph_.tasks().size()));
    made->clear();
    made->run();
    std::vector<std::uint64_t> values(graph_.tasks().size());
    made->read(values);
    graph_.check(values, "stencil");
    return each;
  }

  options const created_with;

 private:
  static std::unique_ptr<Devices> create() {
    if constexpr (std::is_same_v<Devices, flotilla_devices>) {
      return std::make_unique<Devices>(1, 1);
    } else {
      return std::make_unique<Devices>(1);
    }
  }

  task_graph const graph_;
  std::unique_ptr<Devices> devices_;
};

std::unique_ptr<variant> make_relaunched_graph(driver_devices& devices) {
  return make_graph_variant(devices, true);
}

using recording_maker = stencil_maker<flotilla_devices, make_recording_variant>;
using graph_maker = stencil_maker<driver_devices, make_relaunched_graph>;

}  // namespace

void add_made_recording(bench_suite& suite) {
  recorded_stencil const size{.steps = suite.is_quick() ? 2 : steps};
  figure_tags tags{.who = "flotilla", .what = "made recording", .backlog = width * size.steps};
  suite.measure("flotilla, making a recording of 16000 tasks", tags,
                [=](figure&) { return get_fixture<recording_maker>(size).measure(); });
  tags.who = "CUDA graph";
  suite.measure("making a CUDA graph of 16000 kernels", tags,
                [=](figure&) { return get_fixture<graph_maker>(size).measure(); });
  suite.compare({.id = "replay_made",
                 .subject = "flotilla, making a recording of 16000 tasks",
                 .control = "making and instantiating a CUDA graph",
                 .controls = {"making a CUDA graph of 16000 kernels"},
                 .max_value = 1000});
}

}  // namespace flotilla::bench
