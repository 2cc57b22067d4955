// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A cell: one graph, measured with each variant.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clock.hpp"
#include "pattern.hpp"
#include "variant_set.hpp"

namespace flotilla::bench {

/// The times of one variant.
struct variant_times {
  std::string variant;
  std::string why_not{};          // reason why the variant cannot run here, or empty
  std::vector<double> seconds{};  // time of each repetition

  [[nodiscard]] std::optional<double> median() const;
};

struct cell {
  std::string row{};  // id of the row for which alone the cell is measured, or empty
  std::string pattern;
  std::uint32_t width = 0;  // for fan_in and fan_out: the number of edges of a round
  std::uint32_t steps = 0;  // for fan_in and fan_out: the number of rounds
  bool fan = false;
  task_length length{};
  std::size_t tasks = 0;
  std::size_t edges = 0;
  double critical_path_ns = 0;
  double ideal_ns = 0;  // shortest possible time
  std::vector<variant_times> times{};

  /// Returns the median time of a variant in seconds, or empty if there is none.
  [[nodiscard]] std::optional<double> seconds(std::string const& variant) const;
  /// Returns the ideal time divided by `seconds`, or empty if the tasks have length 0.
  [[nodiscard]] std::optional<double> efficiency(std::optional<double> seconds) const;
  /// Returns the time of flotilla divided by the time of streams by hand.
  [[nodiscard]] std::optional<double> ratio() const;
};

/// Describes a cell without its times.
[[nodiscard]] cell describe_cell(std::string pattern, std::uint32_t width, std::uint32_t steps,
                                 task_length length, task_graph const& graph, bool on_gpus);

/// Runs `graph` with each variant in turn: once as a warm-up, then `repetitions` times. Checks all
/// values after each run. Starts no further repetition after `deadline`, but makes at least one.
/// @throws std::runtime_error  A value is wrong.
void measure(cell& cell, task_graph const& graph, std::vector<variant_set::member const*> variants,
             int repetitions, clock::time_point deadline);

}  // namespace flotilla::bench
