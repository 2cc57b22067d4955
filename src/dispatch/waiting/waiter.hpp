// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop that all waits use.

#include <chrono>
#include <optional>

#include <flotilla/detail/wait_interruption.hpp>

#include "dispatch/device/device_set.hpp"
#include "dispatch/waiting/backoff.hpp"
#include "dispatch/waiting/continuation_runner.hpp"
#include "dispatch/waiting/policy_table.hpp"

namespace flotilla::dispatch {

/// The loop of a waiting thread. The thread helps to drain devices, runs continuations if the kind
/// of wait allows that, and asks the streams for errors every 5 ms. After a round without progress,
/// the thread spins, yields or sleeps, as the wait policy says.
///
/// Each kind of wait is a class with these members:
///   bool done();                            returns whether the wait is over
///   bool help(backoff& state);              drains devices; returns whether it made progress
///   bool runs_continuations();              returns whether the loop runs continuations
///   void idle(backoff& state, deadline);    waits once, after a round without progress
///   slow_waits::wait& age();                for the report of a long wait. If `begun` is zero,
///                                           `until` sets it.
class waiter {
 public:
  using deadline = std::optional<std::chrono::steady_clock::time_point>;  // empty: no deadline

  struct parts {
    runtime_parts const& shared;
    device_set const& devices;
    policy_table const& policies;
    task_query const& query;
    continuation_runner const& continuations;

    /// Returns whether a thread that waits for tasks runs continuations and host tasks: in
    /// single-threaded mode, and if the system has no thread for them. Then there may be no worker
    /// either.
    [[nodiscard]] bool runs_continuations() const noexcept {
      return shared.single_threaded || continuations.runs_here();
    }
  };
  explicit waiter(parts const& with) noexcept : parts_(with) {}
  [[nodiscard]] parts const& with() const noexcept { return parts_; }

  /// Waits until `wait` is done. @return false if the deadline has passed first.
  /// @throws error  The wait was interrupted (interruptible_waits).
  template <class Wait>
  bool until(Wait& wait, deadline until = std::nullopt) const {
    backoff state{parts_.shared.single_threaded};
    while (!wait.done()) {
      bool moved = wait.help(state);
      moved = parts_.shared.overdue.end_due() || moved;
      moved = parts_.shared.polled.poll() || moved;
      if (wait.done()) { break; }
      if (wait.runs_continuations()) { moved = parts_.continuations.run() || moved; }
      if (until && std::chrono::steady_clock::now() >= *until) { return false; }
      // A kernel that has faulted never writes its completion number, so ask for errors.
      if (state.should_poll_health()) {
        parts_.shared.faults.poll_health();
        parts_.shared.stuck.look();
        if (wait.age().begun == slow_waits::clock::time_point{}) {
          wait.age().begun = state.begun();
        }
        parts_.shared.long_waits.look_at(wait.age());
        interruptible_waits::check();
      }
      if (moved) {
        state.reset();
      } else {
        wait.idle(state, interruptible_waits::are_on() && !until ? soon() : until);
      }
    }
    return true;
  }

  /// Blocks in the driver until the lane of the task has completed all work that is in it now. Does
  /// not block if the task is in no stream or in a lane for callables, or if pending work needs
  /// this thread.
  /// @return whether the task has ended.
  [[nodiscard]] bool sleep_until_ended(task_id id) const;

 private:
  using interruptible_waits = flotilla::detail::interruptible_waits;
  /// The deadline of one idle round of a wait that can be interrupted, which must not sleep in the
  /// driver.
  [[nodiscard]] static deadline soon() {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds{50};
  }

  parts const parts_;
};

}  // namespace flotilla::dispatch
