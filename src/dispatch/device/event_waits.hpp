// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks that wait for events of the application.

#include <cuda.h>

#include <memory>
#include <span>
#include <vector>

#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// Polls the events on the host. A stream that waits for an event would block every other stream on
/// its hardware connection, perhaps with the work for which the event waits: a deadlock.
///
/// Threads: only the holder of the device's lease.
class event_waits {
 public:
  event_waits(runtime_parts const& shared, context::context_handle const& context,
              failure_reporter& reporter) noexcept
      : shared_(shared), context_(context), reporter_(reporter) {}

  /// Adds a task whose slot holds an event_command.
  /// @param after  The end marks of the task's predecessors. The event is polled after all of them
  /// are reached.
  void add(slot_address task, std::span<end_mark const> after);
  /// Polls each event once, and ends the tasks whose events have completed. The context must be
  /// current. @return whether any task has ended.
  bool poll();
  /// Gives up the tasks whose predecessors have not ended, and appends them to `tasks`. Call it if
  /// the predecessors may run again.
  void give_up_early(std::vector<slot_address>& tasks);
  /// Ends all tasks with the failure `why`.
  void fail_all(std::shared_ptr<failure const> const& why);
  [[nodiscard]] bool empty() const noexcept { return open_.empty(); }

 private:
  struct wait {
    slot_address task;
    CUevent event;
    std::vector<end_mark> after;  // marks that are not reached yet
  };
  /// Returns whether the task has ended.
  [[nodiscard]] bool end_if_completed(wait& one);

  runtime_parts const& shared_;
  context::context_handle const& context_;
  failure_reporter& reporter_;
  std::vector<wait> open_;
};

}  // namespace flotilla::dispatch
