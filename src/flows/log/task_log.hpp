// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that a flow notes about the tasks that it submits.

#include <cstdint>
#include <span>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/detail/memory_command.hpp>

#include "flows/data/datum.hpp"
#include "flows/log/graph_log.hpp"
#include "flows/log/iteration_log.hpp"
#include "flows/log/submitted_task.hpp"

namespace flotilla::flows {

/// Passes each task and copy to the picture of the flow, and to the log of an iteration.
/// Threads: the caller holds the flow's mutex.
class task_log {
 public:
  explicit task_log(bool keeps_graph) noexcept : graph_(keeps_graph) {}

  /// Returns whether tasks must also name predecessors that have ended.
  [[nodiscard]] bool needs_all_predecessors() const noexcept {
    return graph_.is_on() || iteration_ != nullptr;
  }
  [[nodiscard]] graph_log const& graph() const noexcept { return graph_; }

  void add_task(std::span<detail::datum_use const> uses, submitted_task const& task) noexcept {
    ++changes_;
    graph_.add_task(task.id, task.options, uses, task.where);
    if (iteration_ != nullptr) { iteration_->add_task(uses, task); }
  }
  /// Adds a copy between two places.
  void add_copy(copy_step const& copy, task_id const& id, task_options const& options) noexcept {
    ++changes_;
    graph_.add_copy(id, options, *copy.which, copy.from, copy.to);
    if (iteration_ != nullptr) { iteration_->add_copy(copy, id, options); }
  }
  /// Adds a task that joins tiles or lists of users.
  void add_join(task_id const& id, task_options const& options,
                detail::datum const& whole) noexcept {
    graph_.add_join(id, options, whole);
    note_change("tiles, or long lists of tasks that read, must be joined");
  }
  /// Notes that data were changed in another way than by a task or a copy.
  /// @param how  See iteration_log::refuse.
  void note_change(char const* how) noexcept {
    ++changes_;
    refuse(how);
  }
  /// See iteration_log::refuse.
  void refuse(char const* why) noexcept {
    if (iteration_ != nullptr) { iteration_->refuse(why); }
  }

  /// Returns a number that grows with each change of data.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  /// Returns the log of the iteration that is being submitted; null if there is none.
  [[nodiscard]] iteration_log* iteration() const noexcept { return iteration_; }
  void set_iteration(iteration_log* log) noexcept { iteration_ = log; }

 private:
  graph_log graph_;
  iteration_log* iteration_ = nullptr;
  std::uint64_t changes_ = 0;
};

}  // namespace flotilla::flows
