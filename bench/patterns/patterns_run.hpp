// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of the suite: it measures all cells and prints each of them at once, so that an interrupted
// run has results too.

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "pattern_rows.hpp"
#include "patterns_options.hpp"
#include "patterns_results.hpp"

namespace flotilla::bench {

class patterns_run {
 public:
  /// @param save  Called with all results so far, after each pattern and row, and at the end.
  patterns_run(patterns_options wanted, std::ostream& out,
               std::function<void(patterns_results const&)> save);

  /// @throws std::runtime_error  A task wrote a wrong value.
  void run();

 private:
  using members = std::vector<variant_set::member const*>;

  [[nodiscard]] bool wants(std::string const& pattern) const;
  [[nodiscard]] bool has_row(std::string const& id) const { return results_.rows.contains(id); }
  [[nodiscard]] members variants() const;
  [[nodiscard]] std::uint32_t steps_of(pattern const& pattern, std::uint32_t width,
                                       task_length length) const;
  /// Returns whether the time is up. Notes that the rows `ids` are incomplete then.
  [[nodiscard]] bool is_late(std::vector<std::string> const& ids);
  void run_grid();
  void run_pattern(pattern const& pattern);
  void run_cell(pattern const& pattern, std::uint32_t width, task_length length);
  void run_fan(std::string const& name, task_graph (*make)(std::uint32_t, std::uint32_t));
  void run_graph_row(graph_row const& row);
  void finish_cell(cell cell, task_graph const& graph, members const& variants);
  void run_metg_row();
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
