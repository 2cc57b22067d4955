#pragma once
// One measurement: what was measured, the cost in each pass, and the times of single tasks.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace flotilla::bench {

/// The conditions of a figure. Plots use them as axes and lines.
struct figure_tags {
  std::string who;   // "flotilla", "raw launches", ...: a line of a plot
  std::string what;  // "flood", "lone", ...: figures of one kind can be compared
  int producers = 1;
  int devices = 1;
  std::int64_t backlog = 0;  // tasks that are submitted before a wait
  double length_us = 0;      // of the kernel; 0: empty
};

struct figure {
  std::string name;
  figure_tags tags;
  std::string unit = "ns";        // of passes
  std::vector<double> passes{};   // cost per task in each pass
  std::vector<double> samples{};  // ns; times of single tasks of all passes, if they were timed
  std::string note{};
  std::string why_not{};  // why there are no passes
  bool failed = false;    // the measurement failed, so the program must fail

  [[nodiscard]] bool measured() const noexcept { return why_not.empty() && !passes.empty(); }
  /// The median of the passes.
  [[nodiscard]] double median() const;
  /// The range of the passes divided by their median; 0 if the median is 0.
  [[nodiscard]] double spread() const;
  /// A quantile of the samples, of which there must be some; `part` in [0, 1].
  [[nodiscard]] double quantile(double part) const;
};

/// Thrown by a pass that this machine cannot make.
struct not_available : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace flotilla::bench
