#pragma once
// The waits of users: for a task, for the first of several tasks, for a completion, for everything.

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
  /// @param policy  Replaces the policy of the device.
  ticket_wait(waiter const& waiter, deadlock_detector& deadlocks, task_id id,
              std::optional<wait_policy> policy);
  ~ticket_wait() { deadlocks_.clear(); }
  ticket_wait(ticket_wait const&) = delete;
  ticket_wait& operator=(ticket_wait const&) = delete;

  [[nodiscard]] bool done() const noexcept { return waiter_.with().query.has_ended(id_); }
  bool help(backoff& state);
  [[nodiscard]] bool runs_continuations() const noexcept;
  void idle(backoff& state, waiter::deadline until);

 private:
  /// Gives a polling worker some microseconds to launch the task. The worker has the state of the
  /// device and of the driver in its cache, so it is cheaper than this thread. Does nothing if the
  /// worker leaves such tasks to this thread (wait_predictor).
  void let_worker_launch();

  waiter const& waiter_;
  deadlock_detector& deadlocks_;
  task_id const id_;
  std::optional<wait_policy> const policy_;
  bool const inside_callable_;
  std::optional<unsigned>
      first_device_;  // the device of the task, or of the task that it is parked on
};

/// A wait for the first of several tasks. Not inside a callable.
class any_wait {
 public:
  any_wait(waiter const& waiter, std::span<task_id const> ids) noexcept
      : waiter_(waiter), ids_(ids) {}

  [[nodiscard]] bool done() noexcept;
  bool help(backoff& state);
  [[nodiscard]] bool runs_continuations() const noexcept {
    return waiter_.with().shared.single_threaded;
  }
  void idle(backoff& state, waiter::deadline until) const;
  /// The index of the task that has ended.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }

 private:
  waiter const& waiter_;
  std::span<task_id const> const ids_;
  std::size_t first_ = 0;
};

/// A wait for a completion. Not inside a callable or a continuation.
class completion_wait {
 public:
  completion_wait(waiter const& waiter, completion_state const& state) noexcept
      : waiter_(waiter), state_(state) {}

  [[nodiscard]] bool done() const noexcept {
    return state_.done.load(std::memory_order_acquire);  // pairs with continuation_table::finish
  }
  bool help(backoff& state) const;
  [[nodiscard]] static bool runs_continuations() noexcept { return true; }
  void idle(backoff& state, waiter::deadline until) const;

 private:
  waiter const& waiter_;
  completion_state const& state_;
};

/// A wait for every task of an epoch or an earlier one. Ends early if the driver is poisoned.
class idle_wait {
 public:
  idle_wait(waiter const& waiter, std::uint64_t epoch) noexcept : waiter_(waiter), epoch_(epoch) {}

  [[nodiscard]] bool done() noexcept;
  bool help(backoff& state) const;
  [[nodiscard]] static bool runs_continuations() noexcept { return true; }
  void idle(backoff& state, waiter::deadline until) const;

 private:
  /// Sleeps until an open task has ended, if only streams can end it.
  [[nodiscard]] bool sleep() const;

  waiter const& waiter_;
  std::uint64_t const epoch_;
  std::optional<slot_address> open_;  // a task that was found open
};

}  // namespace flotilla::dispatch
