// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Infers the predecessors of a task from its data.

#include <span>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/task_options.hpp>

#include "flows/copies/data_mover.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/writer_table.hpp"
#include "flows/log/submitted_task.hpp"
#include "flows/log/task_log.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex in all calls.
class task_order {
 public:
  task_order(data_mover& mover, task_log& log) noexcept : mover_(mover), log_(log) {}

  /// Adds the predecessors of the task to the options, and allocates everything that `commit`
  /// needs. The data must have memory and contents at the place.
  void plan(std::span<detail::datum_use const> uses, place where, task_options& options);
  /// Records that the task was submitted after `plan`. Does not throw.
  /// @param task  Its options are those after `plan`.
  void commit(std::span<detail::datum_use const> uses, submitted_task const& task) noexcept;
  /// Makes the application the last writer of the copy on the host. No task may use this copy.
  void commit_host_update(detail::datum& which) noexcept;
  /// Records that a task has written data at a place. @param by  Null: nothing to wait for.
  void mark_written(detail::datum& which, place where, writer* by) noexcept;
  /// See task_log::refuse.
  void refuse_replay(char const* why) noexcept { log_.refuse(why); }

 private:
  /// Records that a task that commutes with others has changed data at a place.
  void mark_commuted(detail::datum& which, place where, writer& by) noexcept;
  /// Returns whether the device may decide the order of the task and of the last tasks that commute
  /// on the data.
  [[nodiscard]] bool may_commute(std::span<detail::datum_use const> uses,
                                 detail::datum_use const& use, place where) const noexcept;
  /// Adds the predecessors of a task that may commute. Prepares the replica for `commit`.
  void plan_turn(replica& here, place where, task_options& options);

  data_mover& mover_;
  task_log& log_;
  writer* planned_ = nullptr;  // the writer of the task that is planned or will be planned next
  bool commutes_ = false;      // whether the planned task may commute
};

}  // namespace flotilla::flows
