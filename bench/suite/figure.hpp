// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A figure: its conditions, the cost in each pass, and the times of single tasks.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace flotilla::bench {

/// The conditions of a figure. scripts/plot_bench uses them for the axes and lines of plots.
struct figure_tags {
  std::string who;   // "flotilla", "raw launches", ...; one line in a plot
  std::string what;  // "flood", "lone", ...; only figures with equal `what` can be compared
  int producers = 1;
  int devices = 1;
  std::int64_t backlog = 0;  // number of tasks that are submitted before a wait
  double length_us = 0;      // running time of the kernel; 0: empty kernel
  double bytes = 0;          // bytes that a task copies; 0: no copies
};

struct figure {
  std::string name;
  figure_tags tags;
  std::string unit = "ns";        // unit of `passes`
  std::vector<double> passes{};   // cost per task in each pass
  std::vector<double> samples{};  // times of single tasks in all passes, in ns; may be empty
  std::string note{};
  std::string why_not{};  // reason why the figure was not measured, or empty
  bool failed = false;    // the measurement threw an error; the program must exit with 1

  [[nodiscard]] bool measured() const noexcept { return why_not.empty() && !passes.empty(); }
  /// The median of the passes.
  [[nodiscard]] double median() const;
  /// The difference between the slowest and the fastest pass, divided by the median; 0 if the
  /// median is 0.
  [[nodiscard]] double spread() const;
  /// The quantile `part` (in [0, 1]) of the samples. `samples` must not be empty.
  [[nodiscard]] double quantile(double part) const;
};

/// Thrown by a pass that cannot run on this machine.
struct not_available : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace flotilla::bench
