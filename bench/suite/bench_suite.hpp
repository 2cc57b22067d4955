// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The benchmark suite. It consists of figures and rows: Google Benchmark measures the figures, and
// each row compares figures. Most other source files in this folder add figures and rows to the
// suite. Each of these files answers one question.
//
// Terms: a figure is one measured cost. A pass is one measurement of a figure. A row compares one
// figure with the control, which is another figure or a fixed value. A flood is many tasks that are
// submitted without waiting. A lone task is one that is submitted and waited for while no other
// task is open.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "clock.hpp"
#include "figure.hpp"
#include "row.hpp"

namespace flotilla::bench {

/// The sizes of the measurements.
struct amounts {
  int passes = 5;  // passes of each figure, after one warm-up pass
  // Tasks in a flood: four times the default window, and a multiple of every thread count.
  std::int64_t flood = 65536;
  std::int64_t raw = 32768;  // tasks or launches in a pass if each of them takes microseconds
  std::int64_t lone = 1000;  // lone tasks per pass
  std::int64_t chain = 100'000;
  std::size_t copy_bytes = std::size_t{1} << 30;
  std::int64_t copies = 16384;  // small copies in each direction
  double kernel_seconds = 0.1;  // total running time of the kernels in a pass
  /// @param quick  Use the smallest amounts, which only show that the measurements work.
  [[nodiscard]] static amounts of(bool gpus, bool quick);
};

/// Runs one pass. May add samples to the figure.
/// @return the cost per task, in the unit of the figure.
/// @throws not_available
using pass = std::function<double(figure&)>;

class bench_suite {
 public:
  struct options {
    std::vector<std::string> only{};  // ids of the rows to measure; empty: all rows and all figures
    bool quick = false;
    double seconds = 180;  // time limit for the run: no pass starts after this time
  };
  explicit bench_suite(options const& wanted);

  /// Adds a figure. The figures are measured in the order in which they were added. Figures with
  /// the same fixture should be adjacent, so that the fixture is created once.
  /// @param unit  The unit of the result of `once`.
  void measure(std::string name, figure_tags const& tags, pass once, std::string unit = "ns");
  void compare(row row);

  /// Measures the figures that the selected rows need, and prints their names to stderr.
  void run();

  /// With `quick`, the results have no ratios and no verdicts, because their figures are
  /// meaningless.
  [[nodiscard]] std::vector<row_result> results() const;
  [[nodiscard]] std::vector<figure> const& figures() const noexcept { return figures_; }
  [[nodiscard]] std::vector<std::string> ids() const;
  [[nodiscard]] amounts const& amount() const noexcept { return amount_; }
  [[nodiscard]] bool is_quick() const noexcept { return options_.quick; }
  [[nodiscard]] bool on_gpus() const noexcept { return on_gpus_; }
  [[nodiscard]] double seconds() const { return seconds_since(start_); }

 private:
  [[nodiscard]] bool wanted(row const& row) const;
  [[nodiscard]] bool needed(std::string const& figure_name) const;
  void run_pass(std::size_t index, double& ns) noexcept;

  options options_;
  bool on_gpus_;
  amounts amount_;
  clock::time_point start_ = clock::now();
  std::vector<figure> figures_;
  std::vector<pass> passes_;  // element i belongs to figures_[i]
  std::vector<row> rows_;
};

// Defined in the other files of this folder. Each function adds figures and rows.
void add_floods(bench_suite& suite);
void add_submits(bench_suite& suite);
void add_c_submits(bench_suite& suite);
void add_bulks(bench_suite& suite);
void add_lone_tasks(bench_suite& suite);
void add_lengths(bench_suite& suite);
void add_chain(bench_suite& suite);
void add_replay(bench_suite& suite);
void add_pingpong(bench_suite& suite);
void add_migration(bench_suite& suite);
void add_lateness(bench_suite& suite);
void add_allocations(bench_suite& suite);
void add_balance(bench_suite& suite);
void add_cpu_device(bench_suite& suite);
void add_callables(bench_suite& suite);
void add_peer_copies(bench_suite& suite);
void add_halo(bench_suite& suite);
void add_mixed(bench_suite& suite);
void add_copies(bench_suite& suite);
void add_pipeline(bench_suite& suite);
void add_pageable(bench_suite& suite);
void add_made_recording(bench_suite& suite);
void add_slowdown(bench_suite& suite);
void add_flows(bench_suite& suite);
void add_named_floods(bench_suite& suite);
void add_single_thread(bench_suite& suite);
void add_submit_threads(bench_suite& suite);
void add_wait_policies(bench_suite& suite);

/// @throws not_available  There are fewer than `wanted` devices.
void need_devices(int wanted);

/// Returns the time since `start` divided by `tasks`, in ns.
[[nodiscard]] inline double ns_each(clock::time_point start, std::int64_t tasks) {
  return seconds_since(start) * 1e9 / static_cast<double>(tasks);
}

}  // namespace flotilla::bench
