#pragma once
// The suite: figures, which Google Benchmark runs, and rows, which compare them. Each other source
// file of this folder answers one question: it adds figures and rows.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "clock.hpp"
#include "figure.hpp"
#include "row.hpp"

namespace flotilla::bench {

/// The sizes of measurements: full, or as small as possible to show that they work.
struct amounts {
  int passes = 5;              // of each figure, after one that does not count
  std::int64_t flood = 65536;  // tasks: four windows, and a multiple of every number of producers
  std::int64_t raw = 32768;    // launches of a control that takes microseconds each
  std::int64_t lone = 1000;    // tasks per pass, one after another
  std::int64_t chain = 100'000;
  std::size_t copy_bytes = std::size_t{1} << 30;
  double kernel_seconds = 0.1;  // running time of kernels in a pass
  /// @param quick  As small as possible.
  [[nodiscard]] static amounts of(bool gpus, bool quick);
};

/// Runs one pass. @return its cost per task, in the figure's unit. May add to the figure's samples.
/// @throws not_available
using pass = std::function<double(figure&)>;

class bench_suite {
 public:
  struct options {
    std::vector<std::string> only{};  // ids of rows; empty: all rows, and the figures for plots
    bool quick = false;
    double seconds = 110;  // after that long no figure is begun
  };
  explicit bench_suite(options const& wanted);

  /// Adds a figure. They are measured in order; those with the same fixture should be adjacent.
  /// @param unit  Unit of the result of `once`.
  void measure(std::string name, figure_tags const& tags, pass once, std::string unit = "ns");
  void compare(row row);

  /// Measures the figures that the rows need, and prints their names to stderr.
  void run();

  [[nodiscard]] std::vector<row_result> results() const;
  [[nodiscard]] std::vector<figure> const& figures() const noexcept { return figures_; }
  [[nodiscard]] std::vector<std::string> ids() const;
  [[nodiscard]] amounts const& amount() const noexcept { return amount_; }
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
  std::vector<pass> passes_;  // one for each figure
  std::vector<row> rows_;
};

// Defined by the other files of this folder.
void add_floods(bench_suite& suite);
void add_submits(bench_suite& suite);
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
void add_named_floods(bench_suite& suite);
void add_single_thread(bench_suite& suite);
void add_submit_threads(bench_suite& suite);
void add_wait_policies(bench_suite& suite);

/// @throws not_available  There are fewer than `wanted` devices.
void need_devices(int wanted);

/// Nanoseconds per task, for so many tasks since `start`.
[[nodiscard]] inline double ns_each(clock::time_point start, std::int64_t tasks) {
  return seconds_since(start) * 1e9 / static_cast<double>(tasks);
}

}  // namespace flotilla::bench
