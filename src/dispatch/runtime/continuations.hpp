// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attaches continuations to tasks.

#include <exception>
#include <memory>
#include <span>

#include <flotilla/detail/continuation.hpp>
#include <flotilla/task/task_id.hpp>

#include "dispatch/check/submit_checks.hpp"
#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/waiting/waiter.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class continuations {
 public:
  /// @param checks  May be null.
  continuations(waiter const& waiter, usage_guard const& usage,
                std::shared_ptr<continuation_table> table, submit_checks* checks) noexcept
      : waiter_(waiter), usage_(usage), table_(std::move(table)), checks_(checks) {}

  /// Makes `callable` run once after the task has ended.
  void after(task_id id, std::unique_ptr<detail::continuation> callable) const;
  /// Makes code of flotilla run once, on the thread that ends the task. It needs no thread that
  /// user code may occupy.
  /// @param callable  Must not throw, must not block, and must not use the continuation table: its
  /// mutex is locked meanwhile.
  void notify(task_id id, std::unique_ptr<detail::continuation> callable) const;
  /// Makes `callable` run once after all of `tasks` have ended and `start` was called with the
  /// result. Its argument is the error of the task whose failure was seen first. If the call
  /// throws, or `start` is not called, `callable` never runs.
  /// @param immediate  The rules of `notify` apply to `callable`.
  [[nodiscard]] std::shared_ptr<continuation_state> prepare(
      std::span<task_id const> tasks, std::unique_ptr<detail::continuation> callable,
      bool immediate = false) const;
  void start(std::shared_ptr<continuation_state> const& prepared) const;
  /// Waits until no task and no continuation is open, including those that callables, continuations
  /// and other threads submit during the call. Not allowed inside a callable or continuation.
  void wait_until_idle() const { wait_until_idle({.what = "wait_idle", .begun = {}}); }
  /// Waits until no task and no continuation is open, then closes the continuation table. Called
  /// when the runtime ends.
  void end() const noexcept;

 private:
  void wait_until_idle(slow_waits::wait age) const;
  void attach(task_id id, std::unique_ptr<detail::continuation> callable, bool immediate) const;
  void watch(task_id id, std::shared_ptr<continuation_state> const& state) const;
  /// Returns a callable that first tells the checks that these tasks have ended. Without an order
  /// check, returns `callable` itself.
  [[nodiscard]] std::unique_ptr<detail::continuation> observing(
      std::span<task_id const> tasks, std::unique_ptr<detail::continuation> callable) const;

  waiter const& waiter_;
  usage_guard const& usage_;
  // Shared, because jobs of an executor may outlive the runtime.
  std::shared_ptr<continuation_table> const table_;
  submit_checks* const checks_;
};

}  // namespace flotilla::dispatch
