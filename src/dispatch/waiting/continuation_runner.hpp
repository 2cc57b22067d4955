// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the due continuations of a runtime, if no other threads do so.

#include "dispatch/ordering/continuation_threads.hpp"
#include "dispatch/waiting/task_query.hpp"

namespace flotilla::dispatch {

/// Threads: any thread that holds no lease.
class continuation_runner {
 public:
  /// @param threads  The threads that run continuations. Null in single-threaded mode.
  continuation_runner(runtime_parts const& shared, task_query const& query,
                      continuation_threads const* threads) noexcept
      : shared_(shared), query_(query), threads_(threads) {}

  /// If the runtime is poisoned, makes all waiting continuations due. Then runs a bounded number of
  /// due continuations, but only if `runs_here`. @return whether any continuation ran.
  bool run() const;
  /// Returns whether the callers of `run` must run the continuations, because the runtime has no
  /// threads for them.
  [[nodiscard]] bool runs_here() const noexcept {
    return threads_ == nullptr || !threads_->serves();
  }
  /// Returns whether `run` has something to do.
  [[nodiscard]] bool any_due() const noexcept {
    return (shared_.continuations.any_due() && runs_here()) ||
           ((shared_.continuations.watching() || shared_.posted.awaits_poison()) &&
            shared_.faults.is_poisoned());
  }
  /// Returns whether any continuation is due or waits for a task. Cost: two loads.
  [[nodiscard]] bool any_open() const noexcept {
    return shared_.continuations.watching() || shared_.continuations.any_due();
  }
  /// Returns whether a worker must stay for continuations or for the items of bulks.
  [[nodiscard]] bool needs_worker() const noexcept {
    return any_watched() || any_due() || has_items();
  }
  [[nodiscard]] bool any_watched() const noexcept { return shared_.continuations.watching(); }
  /// Returns whether `pump` must ask the streams for errors, because perhaps no other thread does
  /// so: a continuation waits for a task, a bulk is open, or a task was posted.
  [[nodiscard]] bool needs_health_polls() const noexcept {
    return any_watched() || has_items() || shared_.posted.awaits_poison();
  }
  /// Returns whether the calling thread is inside a continuation of this runtime.
  [[nodiscard]] bool inside() const noexcept { return shared_.continuations.inside(); }

 private:
  /// Returns whether the items of a bulk must be counted when they end.
  [[nodiscard]] bool has_items() const noexcept {
    return shared_.bulks.any_open() && !shared_.faults.is_poisoned();
  }

  runtime_parts const& shared_;
  task_query const& query_;
  continuation_threads const* const threads_;
};

}  // namespace flotilla::dispatch
