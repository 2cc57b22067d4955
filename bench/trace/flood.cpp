// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flood.hpp"

#include <chrono>
#include <optional>

#include <flotilla/runtime.hpp>
#include <flotilla/trace.hpp>

#include <flotilla_kernels.hpp>

namespace flotilla::bench {

flood_cost measure_flood(std::size_t tasks, std::uint32_t every,
                         std::filesystem::path const& file) {
  runtime rt;
  launch const empty = rt.load(flotilla_kernels).kernel<>("null_kernel").with_shape({1}, {32})();
  task_options const options{.device = device_ordinal{0}};
  auto const flood = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) { rt.post(empty, options); }
    rt.wait_idle();
  };
  flood(tasks / 10);  // makes the graphs
  std::optional<trace> writing;
  if (every != 0) { writing.emplace(rt, trace_options{.file = file, .every = every}); }
  auto const begun = std::chrono::steady_clock::now();
  flood(tasks);
  std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - begun;
  flood_cost made{.ns = took.count() / static_cast<double>(tasks)};
  if (writing) {
    trace_summary const summary = writing->end();
    made.traced = summary.tasks;
    made.dropped = summary.dropped;
    made.bytes = summary.bytes;
    std::filesystem::remove(file);
  }
  return made;
}

}  // namespace flotilla::bench
