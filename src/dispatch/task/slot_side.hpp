// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that only few tasks need. It is kept outside the slots.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include <flotilla/kernel/launch_shape.hpp>

#include "base/cache_line.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/deadline_queue.hpp"
#include "dispatch/task/task_state.hpp"
#include "dispatch/task/trace_stamp.hpp"

namespace flotilla::dispatch {

class bulk;

/// What can cancel a task: a stop token, and a deadline.
struct task_watch {
  /// Exists from the submit of a task with a stop token until its end. Its destructor waits while
  /// another thread calls stop_request, which never waits for a thread that may wait for this one.
  std::optional<std::stop_callback<stop_request>> stop;  // if `stoppable` is set
  deadline_entry deadline;                               // in the queue if `timed` is set
};

/// Each slot has one slot_side. The next task of the slot reuses the slot_side and its memory.
struct alignas(base::cache_line) slot_side {
  static constexpr std::uint16_t no_status = 0xffff;
  static constexpr std::size_t more_inline_dependencies = 4;

  std::unique_ptr<std::byte[]> arguments;  // allocated at first use
  // The predecessors beyond slot::inline_dependencies: the first of them, and then all others. So a
  // task with up to 8 predecessors allocates nothing.
  std::array<task_key, more_inline_dependencies> next_dependencies;
  std::vector<task_key> more_dependencies;
  std::unique_ptr<task_watch> watch;  // allocated at first use
  launch_attributes attributes{};     // if slot::attributed is true
  bulk* counted_in = nullptr;         // the bulk of the task if `counted` is set
  std::size_t index_in_bulk = 0;
  std::array<char, 48> label{};  // zero-terminated; longer labels are truncated
  // Only for tasks with more than slot::inline_dependencies predecessors: the first predecessor
  // that may still be neither launched nor in an open batch.
  std::uint16_t first_unstarted = 0;
  // If slot::has_order_only is true: how many of the first predecessors may fail.
  std::uint16_t order_only = 0;
  // If slot::attributed is true: the offset of the task_status in the arguments of the launch.
  std::uint16_t status_offset = no_status;
  std::uint16_t argument_room = 0;  // size of `arguments`
  trace_stamp traced{};             // valid if its generation is the task's

  /// Returns predecessor `i` of those beyond slot::inline_dependencies.
  [[nodiscard]] task_key dependency(std::size_t i) const noexcept {
    return i < more_inline_dependencies ? next_dependencies[i]
                                        : more_dependencies[i - more_inline_dependencies];
  }
  /// Adds predecessor `i` of those beyond slot::inline_dependencies. Call it for each `i` in order.
  void add_dependency(std::size_t i, task_key predecessor) {
    if (i < more_inline_dependencies) {
      next_dependencies[i] = predecessor;
    } else {
      more_dependencies.push_back(predecessor);
    }
  }
  void set_dependency(std::size_t i, task_key predecessor) noexcept {
    (i < more_inline_dependencies ? next_dependencies[i]
                                  : more_dependencies[i - more_inline_dependencies]) = predecessor;
  }
  void set_label(std::string_view text) noexcept {
    std::size_t const bytes = std::min(text.size(), label.size() - 1);
    std::memcpy(label.data(), text.data(), bytes);
    label[bytes] = '\0';
  }
};
static_assert(sizeof(slot_side) == 3 * base::cache_line);

}  // namespace flotilla::dispatch
