// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The waits that users can start: for a task, for the first of several tasks, and for all tasks.

#include <cstdint>
#include <optional>
#include <span>

#include <flotilla/settings/settings.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/waiting/deadlock_detector.hpp"
#include "dispatch/waiting/waiter.hpp"

namespace flotilla::dispatch {

/// A wait for one task.
class ticket_wait {
 public:
  enum class goals { ended, launched };
  /// @param policy  Replaces the policy of the device. Empty: the policy of the device applies.
  /// @param goal    Whether to wait until the task has ended, or only until it is launched.
  ticket_wait(waiter const& waiter, deadlock_detector& deadlocks, task_id id,
              std::optional<wait_policy> policy, goals goal = goals::ended);
  ~ticket_wait() { deadlocks_.clear(); }
  ticket_wait(ticket_wait const&) = delete;
  ticket_wait& operator=(ticket_wait const&) = delete;

  [[nodiscard]] bool done() const noexcept {
    task_query const& query = waiter_.with().query;
    return query.has_ended(id_) || (goal_ == goals::launched && query.was_launched(id_));
  }
  bool help(backoff& state);
  [[nodiscard]] bool runs_continuations() const noexcept;
  void idle(backoff& state, waiter::deadline until);
  [[nodiscard]] slow_waits::wait& age() noexcept { return age_; }

 private:
  /// Gives a polling worker some microseconds to launch the task. The worker launches faster than
  /// this thread, because the worker has the state of the device and of the driver in its cache.
  /// Returns at once if wait_predictor predicted this wait, because workers leave such tasks to
  /// this thread.
  void let_worker_launch();
  /// @param root  The task on which this one is parked (propagate_demand).
  /// @throws would_deadlock  This wait is inside the host task `root`, in many rounds.
  void count_rounds_behind_itself(slot_address root);

  waiter const& waiter_;
  deadlock_detector& deadlocks_;
  task_id const id_;
  std::optional<wait_policy> const policy_;
  goals const goal_;
  bool const inside_callable_;
  // The device that `help` drains first. It is the device of this task, or of the task on which
  // this task is parked.
  std::optional<unsigned> first_device_;
  unsigned rounds_behind_itself_ = 0;  // since the task was last parked on another one
  slow_waits::wait age_;
};

/// A wait for the first of several tasks. Not allowed inside a callable.
class any_wait {
 public:
  any_wait(waiter const& waiter, std::span<task_id const> ids) noexcept
      : waiter_(waiter), ids_(ids) {}

  [[nodiscard]] bool done() noexcept;
  bool help(backoff& state);
  [[nodiscard]] bool runs_continuations() const noexcept {
    return waiter_.with().runs_continuations();
  }
  void idle(backoff& state, waiter::deadline until) const;
  [[nodiscard]] slow_waits::wait& age() noexcept { return age_; }
  /// Returns the index of the task that has ended. Call this after `done` has returned true.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }

 private:
  waiter const& waiter_;
  std::span<task_id const> const ids_;
  std::size_t first_ = 0;
  slow_waits::wait age_{.what = "wait_any", .begun = {}};
};

/// A wait for all tasks of an epoch and of all earlier epochs. Ends early if the driver is
/// poisoned.
class idle_wait {
 public:
  /// @param age  Of the call for which this object waits, which may use several objects.
  idle_wait(waiter const& waiter, std::uint64_t epoch, slow_waits::wait& age) noexcept
      : waiter_(waiter), epoch_(epoch), age_(age) {}

  [[nodiscard]] bool done() noexcept;
  bool help(backoff& state) const;
  [[nodiscard]] static bool runs_continuations() noexcept { return true; }
  void idle(backoff& state, waiter::deadline until) const;
  [[nodiscard]] slow_waits::wait& age() const noexcept { return age_; }

 private:
  /// Blocks in the driver until the task `open_` has ended. Does not block if a pass or a
  /// continuation could make progress. @return whether the task has ended.
  [[nodiscard]] bool sleep() const;

  waiter const& waiter_;
  std::uint64_t const epoch_;
  slow_waits::wait& age_;
  std::optional<slot_address> open_;  // the open task that the last search found
};

}  // namespace flotilla::dispatch
