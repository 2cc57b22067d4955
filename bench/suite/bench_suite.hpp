#pragma once
// The suite: what is measured, by Google Benchmark, and the rows that are made of it. A file of
// this folder adds figures and rows of one kind.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "counts.hpp"
#include "figure.hpp"
#include "row.hpp"

namespace flotilla::bench {

/// How much is done: enough for a figure, or as little as shows that it works.
struct amounts {
  int passes = 5;  // of each figure, after one that is not counted
  std::int64_t flood =
      65536;  // tasks of a flood: four windows; a multiple of every count of producers
  std::int64_t raw = 32768;  // launches of a control that takes microseconds each
  std::int64_t lone = 1000;  // tasks, one after the other, a pass
  std::int64_t chain = 100'000;
  std::size_t copy_bytes = std::size_t{1} << 30;
  double kernel_seconds = 0.1;  // of kernels' own time in a pass
  /// @param quick  as little as there is.
  [[nodiscard]] static amounts of(bool gpus, bool quick);
};

/// Makes one pass and returns its cost per task, in the figure's unit. May add to `each`.
/// @throws not_here
using pass = std::function<double(figure&)>;

class suite {
 public:
  struct options {
    std::vector<std::string> only{};  // ids of rows; empty: all, and the figures for plots
    bool quick = false;
    double seconds = 110;  // after that long no figure is begun
  };
  explicit suite(options const& wanted);

  /// Measures, in the order of the calls. Figures that share a rig should follow each other.
  /// @param unit  of what `once` returns
  void measure(std::string name, figure_tags const& of, pass once, std::string unit = "ns");
  void compare(row asked);

  /// Runs what the rows need, saying to stderr what is at work.
  void run();

  [[nodiscard]] std::vector<row_result> results() const;
  [[nodiscard]] std::vector<figure> const& figures() const noexcept { return figures_; }
  [[nodiscard]] std::vector<std::string> ids() const;
  [[nodiscard]] amounts const& amount() const noexcept { return amount_; }
  [[nodiscard]] bool on_gpus() const noexcept { return on_gpus_; }
  [[nodiscard]] double seconds() const { return seconds_since(start_); }

 private:
  [[nodiscard]] bool wanted(row const& asked) const;
  [[nodiscard]] bool needed(std::string const& name) const;
  void make_pass(std::size_t figure, double& ns) noexcept;

  options options_;
  bool on_gpus_;
  amounts amount_;
  clock::time_point start_ = clock::now();
  std::vector<figure> figures_;
  std::vector<pass> passes_;  // of each figure
  std::vector<row> rows_;
};

/// What the other files of the folder add.
void add_floods(suite& to);
void add_submits(suite& to);
void add_lone_tasks(suite& to);
void add_lengths(suite& to);
void add_chain(suite& to);
void add_replay(suite& to);
void add_pingpong(suite& to);
void add_migration(suite& to);
void add_lateness(suite& to);
void add_allocations(suite& to);
void add_balance(suite& to);
void add_cpu_device(suite& to);

/// @throws not_here  when there are not `wanted` devices
void need_devices(int wanted);

/// Nanoseconds a task, of so many since `start`.
[[nodiscard]] inline double ns_each(clock::time_point start, std::int64_t tasks) {
  return seconds_since(start) * 1e9 / static_cast<double>(tasks);
}

}  // namespace flotilla::bench
