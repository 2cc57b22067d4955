// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits for tasks that use the memory of data on the host.

#include <optional>

#include <flotilla/task/task_id.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex, except in `wait_for`.
class host_access {
 public:
  explicit host_access(dispatch::runtime_state& runtime) noexcept : runtime_(runtime) {}

  /// Returns a task that must end before the program uses the copy on the host.
  /// @param for_update  Whether the program changes the copy.
  [[nodiscard]] std::optional<task_id> open_task(detail::datum& which, bool for_update) const;
  /// Returns a task that must end before the program may free the pageable memory from which the
  /// data were made. Empty if there is no such task or no such memory. A host task that runs on
  /// this thread need not end first: it ends its own data.
  /// @param is_read_then  The program reads the memory next, also if it is pinned: returns also a
  ///                      task that must end before that.
  [[nodiscard]] std::optional<task_id> open_task_at_end(detail::datum& which,
                                                        bool is_read_then) const;
  /// Waits until the task has ended. @throws would_deadlock
  void wait_for(task_id const& task) const;
  /// Tells the checks that the host knows that these tasks have ended.
  void note_wait(detail::datum& which, bool for_update) const;
  /// @throws dependency_failed  The data are lost.
  void check_not_lost(detail::datum& which) const;

 private:
  dispatch::runtime_state& runtime_;
};

}  // namespace flotilla::flows
