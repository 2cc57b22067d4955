// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Queues for tasks that wait on the host, one queue for each priority level.

#include <array>
#include <vector>

#include "base/ring_deque.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// One first-in-first-out queue for each priority level. Not thread-safe.
class priority_queues {
 public:
  using queue = base::ring_deque<slot_address>;

  [[nodiscard]] queue& at(priority_level level) noexcept { return by_level_[level]; }
  [[nodiscard]] queue const& at(priority_level level) const noexcept { return by_level_[level]; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (queue const& each : by_level_) { sum += each.size(); }
    return sum;
  }
  /// Moves all tasks to the end of `tasks`.
  void move_to(std::vector<slot_address>& tasks) {
    for (queue& each : by_level_) {
      tasks.insert(tasks.end(), each.begin(), each.end());
      each.clear();
    }
  }

 private:
  std::array<queue, priority_levels> by_level_;
};

}  // namespace flotilla::dispatch
