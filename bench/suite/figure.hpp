#pragma once
// One measured thing: what it was, what each pass over it took, and what single tasks took.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace flotilla::bench {

/// What a figure is a figure of: what a plot draws it against.
struct figure_tags {
  std::string who;   // "flotilla", "raw launches", ...: a line of a plot
  std::string what;  // "flood", "lone", ...: figures of one kind can be compared
  int producers = 1;
  int devices = 1;
  std::int64_t backlog = 0;  // tasks before their submitter waits
  double length_us = 0;      // of the kernel; 0: empty
};

struct figure {
  std::string name;
  figure_tags of;
  std::string unit = "ns";       // of passes
  std::vector<double> passes{};  // of each pass: its cost per task
  std::vector<double> each{};    // ns, of single tasks of all passes, where they were timed
  std::string note{};            // what else is to be said
  std::string why_not{};         // why there are no passes
  bool failed = false;           // because something went wrong, which ends the program badly

  [[nodiscard]] bool measured() const noexcept { return why_not.empty() && !passes.empty(); }
  /// The median of the passes.
  [[nodiscard]] double middle() const;
  /// Highest pass less lowest, as a part of the median; 0 where the median is.
  [[nodiscard]] double spread() const;
  /// Of single tasks; `part` in [0, 1]. To be asked only where `each` is not empty.
  [[nodiscard]] double quantile(double part) const;
};

/// What a pass throws that this machine cannot make.
struct not_here : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace flotilla::bench
