#pragma once
// Runs the continuations of a runtime that are due.

#include "dispatch/waiting/task_query.hpp"

namespace flotilla::dispatch {

/// Threads: any that holds no lease.
class continuation_runner {
 public:
  continuation_runner(runtime_parts const& shared, task_query const& query) noexcept
      : shared_(shared), query_(query) {}

  /// Runs continuations that are due, a bounded number. @return whether any ran.
  bool run() const;
  /// Whether `run` would find any.
  [[nodiscard]] bool any_due() const noexcept {
    return shared_.continuations.any_due() ||
           ((shared_.continuations.watching() || shared_.posted.awaits_poison()) &&
            shared_.faults.is_poisoned());
  }
  /// Whether any continuation waits for its task or is due. Cost: two loads.
  [[nodiscard]] bool any_open() const noexcept {
    return shared_.continuations.watching() || shared_.continuations.any_due();
  }
  [[nodiscard]] bool any_watched() const noexcept { return shared_.continuations.watching(); }
  /// Whether the driver must be asked for faults, because no other thread may do it: a task is
  /// watched, or tasks were posted.
  [[nodiscard]] bool needs_health_polls() const noexcept {
    return any_watched() || shared_.posted.awaits_poison();
  }
  /// Whether this thread is inside a continuation.
  [[nodiscard]] bool inside() const noexcept { return shared_.continuations.inside(); }

 private:
  runtime_parts const& shared_;
  task_query const& query_;
};

}  // namespace flotilla::dispatch
