// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The errors of posted tasks when the runtime is poisoned. The tests use no runtime.

#include "dispatch/ordering/posted_errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>

#include <flotilla/error/log.hpp>

namespace flotilla::dispatch {
namespace {

class PostedErrors : public ::testing::Test {
 protected:
  /// Opens the next task of the window.
  void open(bool posted) {
    slot& task = tasks_.at(tasks_.pool_at(0).take_any());
    task.posted = posted;
    task.generation = generation_word::of(1);
  }
  /// Returns how many errors the handler has got.
  int handled() {
    while (table_->run_next()) {}
    return handled_;
  }

  static constexpr std::array<std::size_t, 1> windows{4};
  std::shared_ptr<failure const> const why_ =
      make_failure(std::make_exception_ptr(std::runtime_error{"the device is lost"}));
  int handled_ = 0;
  doorbell bell_;
  task_table tasks_{windows, 1};
  std::shared_ptr<continuation_table> const table_ =
      std::make_shared<continuation_table>(bell_, nullptr);
  posted_errors errors_{[this](std::exception_ptr const&) { ++handled_; }, tasks_, table_, bell_};
};

// requirement: a poisoned runtime is reported if any task was posted, and only once
TEST_F(PostedErrors, AwaitTheReportFromTheFirstPostedTask) {
  EXPECT_FALSE(errors_.awaits_poison());
  errors_.expect();
  EXPECT_TRUE(errors_.awaits_poison());
  errors_.expect();
  EXPECT_TRUE(errors_.awaits_poison());
  errors_.report_poison(why_, false);
  EXPECT_FALSE(errors_.awaits_poison());
}

// requirement: a poisoned runtime is reported once if a posted task is open, among other tasks
TEST_F(PostedErrors, ReportOnceIfAPostedTaskIsOpen) {
  open(false);
  open(true);
  open(false);
  errors_.report_poison(why_, false);
  EXPECT_EQ(handled(), 1);
  errors_.report_poison(why_, false);
  EXPECT_EQ(handled(), 1);
}

// requirement: errors of tasks that have tickets are not reported
TEST_F(PostedErrors, AreNotReportedWithoutAPostedTask) {
  open(false);
  errors_.report_poison(why_, false);
  EXPECT_EQ(handled(), 0);
}

// requirement: a bulk without a ticket counts as a posted task
TEST_F(PostedErrors, ReportOnceIfABulkIsOpen) {
  open(false);
  errors_.report_poison(why_, true);
  EXPECT_EQ(handled(), 1);
}

// regression: a task that was posted while the poison was reported ended without a report
TEST_F(PostedErrors, ReportATaskThatIsPostedLate) {
  errors_.expect();
  errors_.report_poison(why_, false);
  EXPECT_FALSE(errors_.awaits_poison());
  open(true);
  errors_.note_open();
  EXPECT_TRUE(errors_.awaits_poison());
  errors_.report_poison(why_, false);
  EXPECT_EQ(handled(), 1);
  errors_.note_open();
  EXPECT_FALSE(errors_.awaits_poison()) << "one report is enough";
}

// requirement: the runtime does not end while a thread reports that it is poisoned
TEST_F(PostedErrors, KeepTheRuntimeDuringTheReport) {
  posted_errors printed{nullptr, tasks_, table_, bell_};
  open(true);
  bool has_ended = true;
  set_log_handler([&](log_message const&) { has_ended = table_->end(); });
  printed.report_poison(why_, false);
  set_log_handler({});
  EXPECT_FALSE(has_ended);
  EXPECT_TRUE(table_->end());
}

}  // namespace
}  // namespace flotilla::dispatch
