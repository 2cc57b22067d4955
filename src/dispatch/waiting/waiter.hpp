#pragma once
// The one wait loop.

#include <chrono>
#include <optional>

#include "dispatch/device/device_set.hpp"
#include "dispatch/waiting/backoff.hpp"
#include "dispatch/waiting/continuation_runner.hpp"
#include "dispatch/waiting/policy_table.hpp"

namespace flotilla::dispatch {

/// The loop of a thread that waits. It helps to drive devices, runs continuations if its kind of
/// wait does so, asks the streams for errors now and then, and in between waits as its policy says.
///
/// Each kind of wait is a class with these members:
///   bool done();                            whether the wait is over
///   bool help(backoff& state);              drives devices; whether anything moved
///   bool runs_continuations();              whether this thread runs continuations meanwhile
///   void idle(backoff& state, deadline);    waits once, because nothing has moved
class waiter {
 public:
  using deadline = std::optional<std::chrono::steady_clock::time_point>;  // empty: none

  struct parts {
    runtime_parts const& shared;
    device_set const& devices;
    policy_table const& policies;
    task_query const& query;
    continuation_runner const& continuations;
  };
  explicit waiter(parts const& with) noexcept : parts_(with) {}
  [[nodiscard]] parts const& with() const noexcept { return parts_; }

  /// Waits until `wait` is done. @return false: the deadline has passed.
  template <class Wait>
  bool until(Wait& wait, deadline until = std::nullopt) const {
    backoff state{parts_.shared.single_threaded};
    while (!wait.done()) {
      bool moved = wait.help(state);
      if (wait.done()) { break; }
      if (wait.runs_continuations()) { moved = parts_.continuations.run() || moved; }
      if (until && std::chrono::steady_clock::now() >= *until) { return false; }
      // A kernel that faulted never writes its number.
      if (state.should_poll_health()) { parts_.shared.faults.poll_health(); }
      if (moved) {
        state.reset();
      } else {
        wait.idle(state, until);
      }
    }
    return true;
  }

  /// Blocks in the driver until the present work of the task's lane is done. Does not block if the
  /// task is in no stream, or if there is work that only this thread would move on. @return whether
  /// the task has ended.
  [[nodiscard]] bool sleep_until_ended(task_id id) const;

 private:
  parts const parts_;
};

}  // namespace flotilla::dispatch
