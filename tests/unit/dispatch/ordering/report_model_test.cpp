// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A thread waits until the runtime is idle, or ends it, while another thread reports an error of
// posted work. Checks every interleaving: the wait must not return before the report is due and has
// run. The models follow the steps of continuations::wait_until_idle and of those who report.

#include <gtest/gtest.h>

#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class bulk_flaw : signed char {
  none,
  is_not_counted,     // the bulk does not count as open
  counts_down_first,  // the bulk counts as reported before its error is due
  due_before_count,   // the waiter looks for due errors before it looks for the bulk
};

/// The last item of a bulk without a ticket ends. Its slot is free before the error of the bulk is
/// due (task_end::end, task_end::arrive). A thread waits until the runtime is idle.
struct bulk_report_model {
  static constexpr int moves = 2;
  enum enders : signed char { give_back, count_down_early, make_due, count_down, done };
  enum waiters : signed char { read_tasks, read_bulks, read_due, returned };

  bulk_flaw with;
  enders ender = give_back;
  waiters waiter = read_tasks;
  bool is_open = true;     // a slot is taken
  bool is_counted = true;  // bulk_table::any_without_ticket
  bool is_due = false;
  bool has_run = false;  // on_error

  explicit bulk_report_model(bulk_flaw broken)
      : with{broken}, is_counted{broken != bulk_flaw::is_not_counted} {}
  auto operator<=>(bulk_report_model const&) const = default;

  bool step(int thread) { return thread == 0 ? step_ender() : step_waiter(); }
  bool step_ender() {
    switch (ender) {
      case give_back:
        is_open = false;
        ender = with == bulk_flaw::counts_down_first ? count_down_early : make_due;
        return true;
      case count_down_early:
        is_counted = false;
        ender = make_due;
        return true;
      case make_due:
        is_due = true;
        ender = count_down;
        return true;
      case count_down:
        is_counted = false;
        ender = done;
        return true;
      case done: return false;
    }
    return false;
  }
  bool step_waiter() {
    bool const due_first = with == bulk_flaw::due_before_count;
    switch (waiter) {
      case read_tasks: waiter = is_open ? read_tasks : due_first ? read_due : read_bulks; break;
      case read_bulks: waiter = is_counted ? read_tasks : due_first ? returned : read_due; break;
      case read_due:
        waiter = is_due ? read_tasks : due_first ? read_bulks : returned;
        has_run = has_run || is_due;
        is_due = false;
        break;
      case returned: return false;
    }
    return true;
  }
  [[nodiscard]] std::string wrong() const {
    return waiter == returned && !has_run ? "the wait returns before the error is reported" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return waiter != returned ? "the wait does not return" : "";
  }
};

// requirement: wait_idle returns after the error of a bulk was reported
TEST(BulkReportModel, TheWaitReturnsAfterTheReport) {
  exploration const found = explore(bulk_report_model{bulk_flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each built-in error
TEST(BulkReportModel, FlawsAreFound) {
  for (bulk_flaw const each :
       {bulk_flaw::is_not_counted, bulk_flaw::counts_down_first, bulk_flaw::due_before_count}) {
    EXPECT_EQ(explore(bulk_report_model{each}).wrong,
              "the wait returns before the error is reported")
        << static_cast<int>(each);
  }
}

/// Two threads find that the runtime is poisoned. One of them reports it (posted_errors), the other
/// ends the runtime (continuations::end).
struct poison_report_model {
  static constexpr int moves = 2;
  enum reporters : signed char { begin_use, set_reported, make_due, end_use, done };
  enum waiters : signed char { read_uses, read_users, read_reported, read_due, compare, returned };

  bool has_use;  // whether the reporter keeps the runtime; without, the model is wrong
  reporters reporter{has_use ? begin_use : set_reported};
  waiters waiter = read_uses;
  signed char users = 0;
  signed char uses = 0;
  signed char seen_uses = 0;
  bool at_rest = false;
  bool is_reported = false;
  bool is_due = false;
  bool has_run = false;  // on_error

  explicit poison_report_model(bool keeps) : has_use{keeps} {}
  auto operator<=>(poison_report_model const&) const = default;

  bool step(int thread) { return thread == 0 ? step_reporter() : step_waiter(); }
  bool step_reporter() {
    switch (reporter) {
      case begin_use:
        ++users;
        ++uses;
        reporter = set_reported;
        return true;
      case set_reported:
        is_reported = true;
        reporter = make_due;
        return true;
      case make_due:
        is_due = true;
        reporter = has_use ? end_use : done;
        return true;
      case end_use:
        --users;
        reporter = done;
        return true;
      case done: return false;
    }
    return false;
  }
  bool step_waiter() {
    switch (waiter) {
      case read_uses:
        seen_uses = uses;
        waiter = read_users;
        break;
      case read_users:
        at_rest = users == 0;
        waiter = read_reported;
        break;
      case read_reported: waiter = is_reported ? read_due : read_uses; break;
      case read_due:
        waiter = is_due ? read_uses : compare;
        has_run = has_run || is_due;
        is_due = false;
        break;
      case compare: waiter = at_rest && uses == seen_uses ? returned : read_uses; break;
      case returned: return false;
    }
    return true;
  }
  [[nodiscard]] std::string wrong() const {
    return waiter == returned && !has_run ? "the runtime ends before the report" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return waiter != returned ? "the runtime does not end" : "";
  }
};

// requirement: a poisoned runtime ends after the report, whichever thread reports
TEST(PoisonReportModel, TheRuntimeEndsAfterTheReport) {
  exploration const found = explore(poison_report_model{true});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds a reporter that does not keep the runtime
TEST(PoisonReportModel, FlawIsFound) {
  EXPECT_EQ(explore(poison_report_model{false}).wrong, "the runtime ends before the report");
}

}  // namespace
}  // namespace flotilla::test
