// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "task_graph.hpp"

#include <algorithm>
#include <stdexcept>

namespace flotilla::bench {

void task_graph::add(std::uint32_t step, std::uint32_t point, std::uint32_t nanoseconds,
                     std::span<std::uint32_t const> predecessors) {
  std::uint64_t value = 1;
  double begin = 0;
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    std::uint32_t const each = predecessors[i];
    if (each >= tasks_.size()) {
      throw std::logic_error{"predecessor " + std::to_string(each) + " of task " +
                             std::to_string(tasks_.size()) + " was not added before"};
    }
    if (predecessors.size() > pattern_argument::max_listed && each != predecessors[0] + i) {
      throw std::logic_error{"task " + std::to_string(tasks_.size()) + " has " +
                             std::to_string(predecessors.size()) +
                             " predecessors that are not consecutive"};
    }
    value += expected_[each];  // modulo 2^64, as on the device
    begin = std::max(begin, ends_[each]);
  }
  tasks_.push_back({.step = step,
                    .point = point,
                    .nanoseconds = nanoseconds,
                    .first_edge = static_cast<std::uint32_t>(edges_.size()),
                    .edges = static_cast<std::uint32_t>(predecessors.size())});
  edges_.insert(edges_.end(), predecessors.begin(), predecessors.end());
  expected_.push_back(value);
  ends_.push_back(begin + nanoseconds);
  steps_ = std::max(steps_, step + 1);
  points_ = std::max(points_, point + 1);
  critical_path_ = std::max(critical_path_, ends_.back());
  total_length_ += nanoseconds;
}

pattern_argument task_graph::argument(std::size_t index, unsigned long long* values) const {
  pattern_argument argument{.values = values,
                            .task = static_cast<unsigned>(index),
                            .nanoseconds = tasks_[index].nanoseconds,
                            .predecessors = tasks_[index].edges,
                            .listed = {}};
  std::span<std::uint32_t const> const all = predecessors(index);
  std::size_t const listed = std::min<std::size_t>(all.size(), pattern_argument::max_listed);
  std::copy_n(all.begin(), listed, argument.listed);
  return argument;
}

void task_graph::check(std::span<std::uint64_t const> values, std::string const& who) const {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (values[i] != expected_[i]) {
      throw std::runtime_error{who + ": wrong value at step " + std::to_string(tasks_[i].step) +
                               ", point " + std::to_string(tasks_[i].point) + ": it is " +
                               std::to_string(values[i]) + ", but must be " +
                               std::to_string(expected_[i])};
    }
  }
}

}  // namespace flotilla::bench
