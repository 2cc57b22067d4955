// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The patterns: which points of the step before a point depends on.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "task_graph.hpp"

namespace flotilla::bench {

struct pattern {
  char const* name;
  char const* text;  // the predecessors in words
  /// Returns the number of points at step `step` of a graph of width `width`. Null means `width`.
  std::uint32_t (*width_at)(std::uint32_t step, std::uint32_t width);
  /// Returns the points of step `step` - 1 on which `point` depends, in ascending order. `step` is
  /// at least 1.
  std::vector<std::uint32_t> (*points)(std::uint32_t step, std::uint32_t point, std::uint32_t width,
                                       std::mt19937& random);
};

/// All patterns with points and steps. The rows fan_in and fan_out are not among them.
[[nodiscard]] std::vector<pattern> const& all_patterns();
/// @throws std::logic_error  There is no such pattern.
[[nodiscard]] pattern const& pattern_named(std::string const& name);

/// The length of each task.
struct task_length {
  bool irregular = false;         // true: each task has its own length of 1 us to 50 us
  std::uint32_t nanoseconds = 0;  // otherwise the length of every task
};

/// Returns a graph with `steps` steps of the pattern. Equal arguments give equal graphs on every
/// machine.
[[nodiscard]] task_graph make_graph(pattern const& pattern, std::uint32_t width,
                                    std::uint32_t steps, task_length length, std::uint32_t seed);

/// Returns `rounds` times `fan` independent tasks and one task that depends on all of them. The
/// tasks have length 0.
[[nodiscard]] task_graph make_fan_in(std::uint32_t fan, std::uint32_t rounds);
/// Returns `rounds` times one task and `fan` tasks that depend on it. The tasks have length 0.
[[nodiscard]] task_graph make_fan_out(std::uint32_t fan, std::uint32_t rounds);

}  // namespace flotilla::bench
