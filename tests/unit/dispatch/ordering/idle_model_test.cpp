// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A thread waits until the runtime is idle while a task ends, its continuation submits another
// task, and so on. Checks every interleaving: the wait must not return before the last continuation
// has ended. The model follows the steps of continuations::wait_until_idle, task_end and
// continuation_table.

#include <gtest/gtest.h>

#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  uses_before_due,    // the waiter compares `uses` before it looks for due continuations
  users_before_uses,  // the waiter looks for running continuations before it reads `uses`
};

struct idle_model {
  static constexpr int moves = 3;
  static constexpr int rounds = 2;  // continuations
  enum devices : signed char { make_due, unwatch, give_back, no_task };
  enum runners : signed char { begin_user, begin_use, begin, submit, watch, leave, ended };
  enum waiters : signed char {
    read_uses,
    read_users,
    read_tasks,
    read_watching,
    read_due,
    compare_uses,
    returned
  };

  flaw with;
  devices device = make_due;
  runners runner = begin_user;
  waiters waiter{with == flaw::users_before_uses ? read_users : read_uses};
  bool is_open = true;  // a slot is taken
  bool is_watched = true;
  bool is_due = false;
  signed char users = 0;
  signed char uses = 0;
  signed char left = rounds;
  signed char seen_uses = 0;
  bool at_rest = false;

  explicit idle_model(flaw broken) : with{broken} {}
  auto operator<=>(idle_model const&) const = default;

  bool step(int thread) {
    return thread == 0 ? step_device() : thread == 1 ? step_runner() : step_waiter();
  }

  bool step_device() {
    switch (device) {
      case make_due:
        if (!is_watched) { return false; }
        is_due = true;
        device = unwatch;
        return true;
      case unwatch:
        is_watched = false;
        device = give_back;
        return true;
      case give_back:
        is_open = false;
        device = no_task;
        return true;
      case no_task: return false;
    }
    return false;
  }
  bool step_runner() {
    switch (runner) {
      case begin_user:
        // The device has the table's mutex until it has removed the entry.
        if (!is_due || device == unwatch) { return false; }
        ++users;
        runner = begin_use;
        return true;
      case begin_use:
        ++uses;
        runner = begin;
        return true;
      case begin:
        is_due = false;
        runner = --left == 0 ? leave : submit;
        return true;
      case submit:
        if (device != no_task) { return false; }  // the model has one slot
        is_open = true;
        device = make_due;
        runner = watch;
        return true;
      case watch:
        is_watched = true;
        runner = leave;
        return true;
      case leave:
        --users;
        runner = left == 0 ? ended : begin_user;
        return true;
      case ended: return false;
    }
    return false;
  }
  bool step_waiter() {
    waiters const first = with == flaw::users_before_uses ? read_users : read_uses;
    switch (waiter) {
      case read_uses:
        seen_uses = uses;
        waiter = with == flaw::users_before_uses ? read_tasks : read_users;
        return true;
      case read_users:
        at_rest = users == 0;
        waiter = with == flaw::users_before_uses ? read_uses : read_tasks;
        return true;
      case read_tasks:
        waiter = is_open || !at_rest             ? first
                 : with == flaw::uses_before_due ? compare_uses
                                                 : read_watching;
        return true;
      case read_watching: waiter = is_watched ? first : read_due; return true;
      case read_due:
        waiter = is_due ? first : with == flaw::uses_before_due ? returned : compare_uses;
        return true;
      case compare_uses:
        waiter = seen_uses != uses               ? first
                 : with == flaw::uses_before_due ? read_watching
                                                 : returned;
        return true;
      case returned: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const {
    return waiter == returned && runner != ended ? "the wait returns too early" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return waiter != returned ? "the wait does not return" : "";
  }
};

// requirement: wait_idle returns after the last continuation has ended
TEST(IdleModel, TheWaitReturnsAfterTheLastContinuation) {
  exploration const found = explore(idle_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each built-in error
TEST(IdleModelFlaws, AreFound) {
  for (flaw const each : {flaw::uses_before_due, flaw::users_before_uses}) {
    EXPECT_EQ(explore(idle_model{each}).wrong, "the wait returns too early")
        << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
