// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the due continuations of a runtime.

#include "dispatch/waiting/task_query.hpp"

namespace flotilla::dispatch {

/// Threads: any thread that holds no lease.
class continuation_runner {
 public:
  continuation_runner(runtime_parts const& shared, task_query const& query) noexcept
      : shared_(shared), query_(query) {}

  /// Runs a bounded number of due continuations. If the runtime is poisoned, first makes all
  /// waiting continuations due. @return whether any continuation ran.
  bool run() const;
  /// Returns whether `run` would find a due continuation.
  [[nodiscard]] bool any_due() const noexcept {
    return shared_.continuations.any_due() ||
           ((shared_.continuations.watching() || shared_.posted.awaits_poison()) &&
            shared_.faults.is_poisoned());
  }
  /// Returns whether any continuation is due or waits for a task. Cost: two loads.
  [[nodiscard]] bool any_open() const noexcept {
    return shared_.continuations.watching() || shared_.continuations.any_due();
  }
  [[nodiscard]] bool any_watched() const noexcept { return shared_.continuations.watching(); }
  /// Returns whether `pump` must ask the streams for errors, because perhaps no other thread does
  /// so: a continuation waits for a task, or a task was posted.
  [[nodiscard]] bool needs_health_polls() const noexcept {
    return any_watched() || shared_.posted.awaits_poison();
  }
  /// Returns whether the calling thread is inside a continuation of this runtime.
  [[nodiscard]] bool inside() const noexcept { return shared_.continuations.inside(); }

 private:
  runtime_parts const& shared_;
  task_query const& query_;
};

}  // namespace flotilla::dispatch
