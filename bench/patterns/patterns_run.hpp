// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of the suite: it measures all cells and prints each of them at once, so that an interrupted
// run has results too.

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cell.hpp"
#include "patterns_options.hpp"

namespace flotilla::bench {

/// The METG of one variant. Infinity means more than `max_us`.
struct metg_result {
  std::string pattern;
  std::uint32_t width;
  std::string variant;
  double us;
  double max_us;  // longest kernel of the search
};

struct patterns_results {
  std::vector<cell> cells{};
  std::vector<metg_result> metgs{};
  int not_measured = 0;  // cells and searches that the time limit left out
};

class patterns_run {
 public:
  /// @param save  Called with all results so far, after each pattern.
  patterns_run(patterns_options wanted, std::ostream& out,
               std::function<void(patterns_results const&)> save);

  /// @throws std::runtime_error  A task wrote a wrong value.
  void run();

 private:
  [[nodiscard]] bool wants(std::string const& pattern) const;
  [[nodiscard]] std::vector<variant_set::member const*> variants() const;
  [[nodiscard]] std::uint32_t steps_of(pattern const& pattern, std::uint32_t width,
                                       task_length length) const;
  [[nodiscard]] bool is_late();
  void run_pattern(pattern const& pattern);
  void run_cell(pattern const& pattern, std::uint32_t width, task_length length);
  void run_fan(std::string const& name, task_graph (*make)(std::uint32_t, std::uint32_t));
  void finish_cell(cell cell, task_graph const& graph);
  void run_metg(pattern const& pattern, std::uint32_t width);

  patterns_options options_;
  std::ostream& out_;
  std::function<void(patterns_results const&)> save_;
  bool on_gpus_;
  clock::time_point deadline_;
  variant_set variants_;
  patterns_results results_;
};

/// The default kernel lengths in us.
[[nodiscard]] std::vector<double> default_kernels(bool on_gpus);

/// The ids of all variants.
[[nodiscard]] std::vector<std::string> variant_ids();

}  // namespace flotilla::bench
