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

 private:
  data_mover& mover_;
  task_log& log_;
  writer* planned_ = nullptr;  // the writer of the task that is planned or will be planned next
};

}  // namespace flotilla::flows
