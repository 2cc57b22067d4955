// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which memory the tasks of a recording use.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dispatch/check/memory_access.hpp"
#include "dispatch/recording/recording_plan.hpp"

namespace flotilla::dispatch {

/// Threads: one at a time.
class recorded_accesses {
 public:
  void set(std::size_t task, std::vector<memory_access> accesses) {
    if (tasks_.size() <= task) { tasks_.resize(task + 1); }
    tasks_[task] = std::move(accesses);
  }
  /// Returns the memory that the tasks of one part use.
  [[nodiscard]] std::vector<memory_access> of_part(
      std::uint32_t part, std::span<recording_plan::place const> places) const {
    std::vector<memory_access> made;
    for (std::size_t i = 0; i < tasks_.size() && i < places.size(); ++i) {
      if (places[i].part == part) { made.insert(made.end(), tasks_[i].begin(), tasks_[i].end()); }
    }
    return made;
  }

 private:
  std::vector<std::vector<memory_access>> tasks_;  // by task
};

}  // namespace flotilla::dispatch
