// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace flotilla::bench {

namespace {

using points = std::vector<std::uint32_t>;
using random_source = std::mt19937;

/// The points in [first, last] that exist.
points range(std::int64_t first, std::int64_t last, std::uint32_t width) {
  points result;
  for (auto i = std::max<std::int64_t>(first, 0); i <= std::min<std::int64_t>(last, width - 1);
       ++i) {
    result.push_back(static_cast<std::uint32_t>(i));
  }
  return result;
}

points sorted(points some) {
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

points trivial(std::uint32_t, std::uint32_t, std::uint32_t, random_source&) { return {}; }

points no_comm(std::uint32_t, std::uint32_t point, std::uint32_t, random_source&) {
  return {point};
}

points stencil(std::uint32_t, std::uint32_t point, std::uint32_t width, random_source&) {
  return range(std::int64_t{point} - 1, std::int64_t{point} + 1, width);
}

points nearest(std::uint32_t, std::uint32_t point, std::uint32_t width, random_source&) {
  return range(std::int64_t{point} - 2, std::int64_t{point} + 2, width);
}

points fft(std::uint32_t step, std::uint32_t point, std::uint32_t width, random_source&) {
  auto const bits = static_cast<std::uint32_t>(std::bit_width(width) - 1);
  if (bits == 0) { return {point}; }
  std::uint32_t const partner = point ^ (1u << (step % bits));
  return partner < width ? sorted({point, partner}) : points{point};
}

/// The number of steps from one point to `width` points if every step doubles the points.
std::uint32_t tree_depth(std::uint32_t width) {
  return static_cast<std::uint32_t>(std::bit_width(width - 1));
}

std::uint32_t tree_width(std::uint32_t step, std::uint32_t width) {
  std::uint32_t const depth = tree_depth(width);
  if (depth == 0) { return 1; }
  std::uint32_t const phase = step % (2 * depth);
  std::uint32_t const level = phase <= depth ? phase : 2 * depth - phase;
  // The levels are those of a binary tree with `width` leaves, so that fan-out and fan-in match.
  return ((width - 1) >> (depth - level)) + 1;
}

points tree(std::uint32_t step, std::uint32_t point, std::uint32_t width, random_source&) {
  std::uint32_t const before = tree_width(step - 1, width);
  if (before <= tree_width(step, width)) { return {point / (width == 1 ? 1 : 2)}; }
  return range(2 * std::int64_t{point}, 2 * std::int64_t{point} + 1, before);
}

points spread(std::uint32_t, std::uint32_t point, std::uint32_t width, random_source&) {
  points result;
  for (std::uint32_t k = 0; k < 5; ++k) { result.push_back((point + k * width / 5) % width); }
  return sorted(std::move(result));
}

points all_to_all(std::uint32_t, std::uint32_t, std::uint32_t width, random_source&) {
  return range(0, width, width);
}

points random_points(std::uint32_t, std::uint32_t, std::uint32_t width, random_source& random) {
  std::size_t const count = std::min<std::size_t>(3 + random() % 3, width);
  points result;
  while (result.size() < count) {
    // No distribution of the standard library, because their results differ between libraries.
    auto const next = static_cast<std::uint32_t>(random() % width);
    if (std::find(result.begin(), result.end(), next) == result.end()) { result.push_back(next); }
  }
  return sorted(std::move(result));
}

std::uint32_t length_of(task_length length, random_source& random) {
  return length.irregular ? static_cast<std::uint32_t>(1000 + random() % 49001)
                          : length.nanoseconds;
}

}  // namespace

std::vector<pattern> const& all_patterns() {
  static std::vector<pattern> const all{
      {"trivial", "none", nullptr, trivial},
      {"no_comm", "i", nullptr, no_comm},
      {"stencil_1d", "i-1, i, i+1", nullptr, stencil},
      {"fft", "i, i xor 2^(t mod log2 w)", nullptr, fft},
      {"tree", "i/2 while the tree grows, then 2i and 2i+1 while it shrinks", tree_width, tree},
      {"nearest", "i-2 to i+2", nullptr, nearest},
      {"spread", "5 points at distances of w/5", nullptr, spread},
      {"all_to_all", "all points", nullptr, all_to_all},
      {"random", "3 to 5 random points", nullptr, random_points},
  };
  return all;
}

pattern const& pattern_named(std::string const& name) {
  for (pattern const& each : all_patterns()) {
    if (each.name == name) { return each; }
  }
  throw std::logic_error{"there is no pattern " + name};
}

task_graph make_graph(pattern const& pattern, std::uint32_t width, std::uint32_t steps,
                      task_length length, std::uint32_t seed) {
  // Two sources, so that equal seeds give equal dependencies for all lengths.
  random_source dependencies{seed};
  random_source lengths{seed + 1};
  task_graph graph;
  std::uint32_t before = 0;  // index of the first task of the step before
  for (std::uint32_t step = 0; step < steps; ++step) {
    auto const begin = static_cast<std::uint32_t>(graph.tasks().size());
    std::uint32_t const points_now =
        pattern.width_at == nullptr ? width : pattern.width_at(step, width);
    for (std::uint32_t point = 0; point < points_now; ++point) {
      points predecessors;
      if (step != 0) { predecessors = pattern.points(step, point, width, dependencies); }
      for (std::uint32_t& each : predecessors) { each += before; }
      graph.add(step, point, length_of(length, lengths), predecessors);
    }
    before = begin;
  }
  return graph;
}

task_graph make_fan_in(std::uint32_t fan, std::uint32_t rounds) {
  task_graph graph;
  points all(fan);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::iota(all.begin(), all.end(), round * (fan + 1));
    for (std::uint32_t i = 0; i < fan; ++i) { graph.add(2 * round, i, 0, {}); }
    graph.add(2 * round + 1, 0, 0, all);
  }
  return graph;
}

task_graph make_fan_out(std::uint32_t fan, std::uint32_t rounds) {
  task_graph graph;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    points const root{round * (fan + 1)};
    graph.add(2 * round, 0, 0, {});
    for (std::uint32_t i = 0; i < fan; ++i) { graph.add(2 * round + 1, i, 0, root); }
  }
  return graph;
}

}  // namespace flotilla::bench
