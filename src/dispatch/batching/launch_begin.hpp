// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Begins the launch of several tasks.

#include <algorithm>
#include <span>

#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Begins the launch of the tasks. Returns whether a request to cancel one of them was seen.
[[nodiscard]] inline bool begin_launches(task_table const& table,
                                         std::span<slot_address const> tasks) noexcept {
  for (slot_address const task : tasks) { begin_launch(table.at(task)); }
  launch_fence();
  return std::any_of(tasks.begin(), tasks.end(), [&table](slot_address task) {
    // relaxed: the fence orders this load after the stores of begin_launch
    generation_word const word{table.at(task).generation.load(std::memory_order_relaxed)};
    return word.cancel() != cancel_state::none && word.cancel() != cancel_state::withdrawn;
  });
}

}  // namespace flotilla::dispatch
