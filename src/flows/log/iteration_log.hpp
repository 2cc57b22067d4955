// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one iteration of flow::repeat submits.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/data/datum.hpp"
#include "flows/log/submitted_task.hpp"
#include "flows/log/task_key.hpp"

namespace flotilla::flows {

/// A copy of data between two places.
struct copy_step {
  detail::datum* which;
  place from;
  place to;
  detail::memory_command command;
};

/// A launch or a copy of an iteration.
struct iteration_step {
  std::optional<launch> what{};  // empty: a copy
  std::optional<copy_step> copy{};
  place where;                            // of a launch
  std::vector<detail::datum_use> uses{};  // of a launch
  std::vector<std::size_t> after{};       // indices of earlier steps
  int priority = 0;

  /// Returns whether two steps do the same with the same memory.
  [[nodiscard]] bool equals(iteration_step const& other,
                            dispatch::kernel_table const& kernels) const noexcept;
};

/// The launches and copies of one iteration, with all predecessors. Other tasks cannot be replayed,
/// nor can an iteration during which the data were used in another way.
///
/// Threads: the caller holds the flow's mutex. The tasks of the iteration come from the thread that
/// made the log. If another thread submits a task meanwhile, the iteration cannot be replayed.
class iteration_log {
 public:
  /// @param before  The log of the iteration before. Its tasks determine the devices of the tasks
  ///                that name none. Null: there is no such log.
  iteration_log(dispatch::runtime_state& runtime, iteration_log const* before) noexcept
      : runtime_(runtime), before_(before) {}

  void add_task(std::span<detail::datum_use const> uses, submitted_task const& task) noexcept;
  void add_copy(copy_step const& copy, task_id const& id, task_options const& options) noexcept;
  /// The iteration did something that cannot be replayed.
  /// @param why  The end of a sentence that begins with "because". A constant.
  void refuse(char const* why) noexcept {
    if (why_not_ == nullptr) { why_not_ = why; }
  }

  [[nodiscard]] bool is_replayable() const noexcept { return why_not() == nullptr; }
  /// Returns what the first call of `refuse` said. Null if the iteration can be replayed.
  [[nodiscard]] char const* why_not() const noexcept {
    return why_not_ == nullptr && steps_.empty() ? "it submits no task" : why_not_;
  }
  /// The predecessors that the program names must be tasks of the iteration.
  void check_predecessors(task_options const& options) noexcept;
  /// Returns where the next task of the calling thread ran in the iteration before.
  [[nodiscard]] std::optional<place> place_of_next_task() const noexcept;
  /// Returns whether two iterations did the same, step by step.
  [[nodiscard]] bool equals(iteration_log const& other) const noexcept;
  [[nodiscard]] std::span<iteration_step const> steps() const noexcept { return steps_; }

 private:
  /// Returns the step of a task; empty if it is no task of the iteration.
  [[nodiscard]] std::optional<std::size_t> step_of(task_id const& id) const noexcept {
    auto const found = step_of_.find(id);
    return found == step_of_.end() ? std::nullopt : std::optional{found->second};
  }
  /// Returns why a task with these options cannot be replayed. Null if it can.
  [[nodiscard]] char const* why_not(task_options const& options) const noexcept;
  /// Adds a step. If there is no memory for it, the iteration cannot be replayed.
  void add(iteration_step&& step, task_id const& id, task_options const& options);

  /// Returns whether the iteration submits this task: the thread that runs the iteration can also
  /// run callables and continuations while it waits for a place in a window.
  [[nodiscard]] bool is_own_task() const noexcept;

  dispatch::runtime_state& runtime_;
  iteration_log const* const before_;
  std::thread::id const thread_ = std::this_thread::get_id();
  char const* why_not_ = nullptr;
  std::vector<iteration_step> steps_;
  std::vector<place> places_;  // of all tasks, in the order of their submission
  task_map<std::size_t> step_of_;
};

}  // namespace flotilla::flows
