// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides when runtime_state is deleted.

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/sharded_count.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Counts the tickets whose tasks have ended. runtime_state lives until the runtime has ended and
/// no ticket is left.
///
/// When a runtime ends, it waits for its open tasks. So the tickets of open tasks need no count,
/// and `submit` counts nothing. If a ticket still exists when its task ends, task_end counts the
/// ticket (tests/unit/dispatch/runtime/ticket_count_model_test.cpp). Threads: any.
class ticket_count {
 public:
  ticket_count(task_table const& tasks, failure_table const& failures, epoch_reclaimer& reclaimer,
               base::sharded_count& tickets) noexcept
      : tasks_(tasks), failures_(failures), reclaimer_(reclaimer), tickets_(tickets) {}

  /// Drops a ticket. @return whether the caller must delete runtime_state, because this was the
  /// last ticket after `close`.
  [[nodiscard]] bool drop(slot_address slot, std::uint64_t generation) noexcept {
    // If the ticket is dropped first, only the open task keeps runtime_state alive from here on.
    // The task may end at any time, so touch no member.
    return !tasks_.ticket_of(slot).settle(generation) && drop_counted(slot, generation);
  }
  /// Counts the tickets of open tasks as if the tasks had ended, because open tasks never end on a
  /// poisoned driver.
  /// @param device  Counts only tasks of this device, whose lease the caller holds. If empty,
  /// counts only tasks that no device has taken.
  void count_open(std::optional<unsigned> device) noexcept;
  /// Closes the count when the runtime ends. @return whether the caller must delete runtime_state,
  /// because no ticket is left.
  [[nodiscard]] bool close() noexcept { return tickets_.close(); }

 private:
  /// Drops a ticket that was counted because its task has ended or will never end.
  [[nodiscard]] bool drop_counted(slot_address slot, std::uint64_t generation) noexcept;

  task_table const& tasks_;
  failure_table const& failures_;
  epoch_reclaimer& reclaimer_;
  base::sharded_count& tickets_;
};

}  // namespace flotilla::dispatch
