// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Executors. They decide which threads run the continuations of a runtime.

#include <memory>
#include <utility>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {
struct continuation_state;
}  // namespace detail

/// A continuation that is due, ready to run. Movable, not copyable.
///
/// If a job is destroyed before it has run, the continuation is not lost: a thread of flotilla runs
/// it (in single-threaded mode a thread that pumps or waits), and flotilla prints a message once.
/// The destructor itself runs no user code.
class FLOTILLA_EXPORT executor_job {
 public:
  executor_job() noexcept = default;
  executor_job(executor_job&&) noexcept = default;
  executor_job& operator=(executor_job&& other) noexcept;
  ~executor_job();

  /// Returns whether the job has not run yet and was not moved from.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Runs the continuation. Afterwards the job is empty. Prints an exception of the
  /// continuation; that of a host task becomes the error of its ticket.
  /// @throws invalid_argument  The job is empty.
  /// @throws used_after_fork   The runtime belongs to the parent of this process.
  /// Threads  any, but not inside a callable or a continuation of the same runtime. No other thread
  ///          may use the same job at the same time.
  /// Blocks   as long as the continuation does.
  void operator()();

 private:
  friend struct detail::continuation_state;
  explicit executor_job(std::shared_ptr<detail::continuation_state> state) noexcept
      : state_{std::move(state)} {}
  std::shared_ptr<detail::continuation_state> state_;  // null if the job is empty
};

/// Runs the continuations of a runtime, for example in the thread pool or the event loop of the
/// application (see runtime_options::continuation_executor). One executor may serve several
/// runtimes.
///
/// Without an executor, a runtime runs its continuations on threads of its own: at most 8, which
/// start when continuations are due and end after one second without work. Further continuations
/// wait until one of these threads is free. In single-threaded mode, there are no such threads, and
/// continuations run inside `pump` and waits.
class FLOTILLA_EXPORT executor {
 public:
  executor() = default;
  executor(executor const&) = delete;
  executor& operator=(executor const&) = delete;
  virtual ~executor();

  /// Runs the job now or later, on any thread. If the function throws, the continuation is treated
  /// as if the job had been destroyed (see executor_job).
  ///
  /// `wait_idle` and the destructor of the runtime wait until every job has run. A wait for a host
  /// task waits for its job. So a thread that waits in one of these functions must not be the only
  /// thread that runs jobs.
  ///
  /// Threads  called on threads of the runtime, possibly on several at the same time. In
  ///          single-threaded mode, called inside `pump` and waits. No context of flotilla is
  ///          current, and no device is stalled while the function runs, except in single-threaded
  ///          mode.
  virtual void execute(executor_job job) = 0;
};

}  // namespace v0_1
}  // namespace flotilla
