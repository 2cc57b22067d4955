// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cell.hpp"

#include <algorithm>

namespace flotilla::bench {

std::optional<double> variant_times::median() const {
  if (seconds.empty()) { return std::nullopt; }
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  std::size_t const middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> cell::seconds(std::string const& variant) const {
  for (variant_times const& each : times) {
    if (each.variant == variant) { return each.median(); }
  }
  return std::nullopt;
}

std::optional<double> cell::efficiency(std::optional<double> seconds) const {
  if (!seconds || ideal_ns == 0) { return std::nullopt; }
  return ideal_ns * 1e-9 / *seconds;
}

std::optional<double> cell::ratio() const {
  auto const flotilla = seconds(flotilla_variant);
  auto const control = seconds(control_variant);
  if (!flotilla || !control) { return std::nullopt; }
  return *flotilla / *control;
}

cell describe_cell(std::string pattern, std::uint32_t width, std::uint32_t steps,
                   task_length length, task_graph const& graph, bool on_gpus) {
  cell cell;
  cell.pattern = std::move(pattern);
  cell.width = width;
  cell.steps = steps;
  cell.length = length;
  cell.tasks = graph.tasks().size();
  cell.edges = graph.edges();
  cell.critical_path_ns = graph.critical_path();
  // The pattern `trivial` has no path. Its ideal time is the work of one point, so that its
  // efficiency compares with the efficiency of the other patterns.
  double const work_of_a_point = graph.total_length() / graph.points();
  cell.ideal_ns = on_gpus ? std::max(graph.critical_path(), work_of_a_point)
                          : graph.total_length();  // a CPU device runs all kernels on one thread
  return cell;
}

void measure(cell& cell, task_graph const& graph, std::vector<variant_set::member const*> variants,
             int repetitions, clock::time_point deadline) {
  for (variant_set::member const* each : variants) {
    cell.times.push_back({.variant = each->id, .why_not = each->how->why_not()});
    if (cell.times.back().why_not.empty()) { each->how->prepare(graph); }
  }
  std::vector<std::uint64_t> values;
  for (int i = 0; i <= repetitions; ++i) {
    if (i > 1 && clock::now() > deadline) { return; }
    for (std::size_t k = 0; k < variants.size(); ++k) {
      if (!cell.times[k].why_not.empty()) { continue; }
      variant& how = *variants[k]->how;
      how.clear();
      auto const start = clock::now();
      how.run();
      double const seconds = seconds_since(start);
      values.assign(graph.tasks().size(), 0);
      how.read(values);
      graph.check(values, cell.pattern + " of width " + std::to_string(cell.width) + ", variant " +
                              variants[k]->id);
      // The first run is a warm-up: the driver loads and allocates, and flotilla learns the lengths
      // of the kernels.
      if (i != 0) { cell.times[k].seconds.push_back(seconds); }
    }
  }
}

}  // namespace flotilla::bench
