// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph of dependent tasks. Every variant runs the same graph.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pattern_argument.hpp"

namespace flotilla::bench {

/// Threads: same rules as for a std::vector.
class task_graph {
 public:
  struct task {
    std::uint32_t step;
    std::uint32_t point;
    std::uint32_t nanoseconds;
    std::uint32_t first_edge;  // index of its first predecessor in the list of all edges
    std::uint32_t edges;       // number of its predecessors
  };

  /// Adds a task.
  /// @param predecessors  Indices of tasks that were added before. If there are more than
  ///                      pattern_argument::max_listed of them, they must be consecutive.
  /// @throws std::logic_error  `predecessors` is invalid.
  void add(std::uint32_t step, std::uint32_t point, std::uint32_t nanoseconds,
           std::span<std::uint32_t const> predecessors);

  [[nodiscard]] std::vector<task> const& tasks() const noexcept { return tasks_; }
  [[nodiscard]] std::span<std::uint32_t const> predecessors(std::size_t index) const {
    return std::span{edges_}.subspan(tasks_[index].first_edge, tasks_[index].edges);
  }
  [[nodiscard]] std::size_t edges() const noexcept { return edges_.size(); }
  [[nodiscard]] std::uint32_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint32_t points() const noexcept { return points_; }

  /// The argument of the kernel for task `index`.
  [[nodiscard]] pattern_argument argument(std::size_t index, unsigned long long* values) const;

  /// The value that each task must write.
  [[nodiscard]] std::vector<std::uint64_t> const& expected() const noexcept { return expected_; }
  /// The sum of the lengths along the longest path, in ns.
  [[nodiscard]] double critical_path() const noexcept { return critical_path_; }
  /// The sum of the lengths of all tasks, in ns.
  [[nodiscard]] double total_length() const noexcept { return total_length_; }

  /// Compares the values that the tasks wrote with the expected values.
  /// @throws std::runtime_error  A value is wrong. The message names `who` and the first task with
  ///                             a wrong value.
  void check(std::span<std::uint64_t const> values, std::string const& who) const;

 private:
  std::vector<task> tasks_;
  std::vector<std::uint32_t> edges_;
  std::vector<std::uint64_t> expected_;
  std::vector<double> ends_;  // earliest possible end of each task, in ns
  std::uint32_t steps_ = 0;
  std::uint32_t points_ = 0;
  double critical_path_ = 0;
  double total_length_ = 0;
};

}  // namespace flotilla::bench
