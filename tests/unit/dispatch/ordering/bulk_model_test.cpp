// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A thread submits a bulk of two items, two threads end the items, and the owner of the ticket
// cancels the bulk and then waits for it. Checks every interleaving: the task that the ticket names
// ends once and after everything else, and nobody uses a bulk that is freed. The model follows the
// steps of bulk_submitter::submit, task_end::arrive and bulk_table.

#include <gtest/gtest.h>

#include <compare>
#include <string>
#include <string_view>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  call_not_counted,   // the count begins with the number of items
  count_before_open,  // the call counts itself before it opens the task
  count_before_name,  // the call counts itself before the table knows the task
  no_owner,           // `cancel` does not become an owner of the bulk
  end_before_remove,  // the task ends before the bulk is removed from the table
};

struct bulk_model {
  static constexpr int moves = 4;
  static constexpr signed char items = 2;
  /// A thread that may count last.
  enum counters : signed char { count, first_step, second_step, release, done };
  enum calls : signed char { open_items, open_end, name_end, count_call, returned };
  enum users : signed char { find, cancel_items, leave, help, ended };
  enum ends : signed char { unopened, open, over };

  flaw with;
  calls call = open_items;
  counters counter[3]{};  // the call, and the two enders
  users user = find;
  signed char opened = 0;
  signed char left;
  signed char owners = 1;
  ends end = unopened;
  bool is_named = false;
  bool is_listed = true;
  bool is_freed = false;
  std::string_view error{};

  explicit bulk_model(flaw broken)
      : with{broken},
        left{static_cast<signed char>(items + (broken == flaw::call_not_counted ? 0 : 1))} {}
  auto operator<=>(bulk_model const&) const = default;

  bool step(int thread) {
    if (thread == 0) { return step_call(); }
    if (thread == 3) { return step_user(); }
    return opened >= thread && step_counter(counter[thread]);
  }

  bool step_call() {
    switch (call) {
      case open_items:
        if (++opened == items) { call = with == flaw::count_before_open ? count_call : open_end; }
        return true;
      case open_end:
        end = open;
        call = with == flaw::count_before_name ? count_call : name_end;
        return true;
      case name_end:
        use();
        is_named = true;
        call = with == flaw::count_before_open || with == flaw::count_before_name ? returned
                                                                                  : count_call;
        return true;
      case count_call:
        if (with != flaw::call_not_counted && step_counter(counter[0])) { return true; }
        call = with == flaw::count_before_open   ? open_end
               : with == flaw::count_before_name ? name_end
                                                 : returned;
        return true;
      case returned: return false;
    }
    return false;
  }
  /// One step of task_end::arrive.
  bool step_counter(counters& at) {
    bool const ends_first = with == flaw::end_before_remove;
    switch (at) {
      case count:
        use();
        at = --left == 0 ? first_step : done;
        return true;
      case first_step:
        ends_first ? end_task() : remove();
        at = second_step;
        return true;
      case second_step:
        ends_first ? remove() : give_up();
        at = release;
        return true;
      case release:
        ends_first ? give_up() : end_task();
        at = done;
        return true;
      case done: return false;
    }
    return false;
  }
  bool step_user() {
    if (call != returned) { return false; }  // the call returns the ticket
    switch (user) {
      case find:  // with the table's mutex locked
        if (is_listed && is_named) {
          use();
          if (with != flaw::no_owner) { ++owners; }
          user = cancel_items;
        } else {
          user = help;
        }
        return true;
      case cancel_items:
        use();
        user = leave;
        return true;
      case leave:
        if (with != flaw::no_owner) { give_up(); }
        user = help;
        return true;
      case help:  // with the table's mutex locked
        if (is_listed && is_named) {
          use();
          if (end != open) { error = "a thread marks a task of somebody else"; }
        }
        user = ended;
        return true;
      case ended: return false;
    }
    return false;
  }

  void use() {
    if (is_freed) { error = "a thread uses a freed bulk"; }
  }
  void remove() {
    use();
    is_listed = false;
    if (!is_named) { error = "the task of the ticket is unknown at the end"; }
  }
  void give_up() {
    use();
    is_freed = --owners == 0;
  }
  void end_task() {
    if (end != open) { error = "a task ends that is not open"; }
    end = over;
  }

  [[nodiscard]] std::string wrong() const { return std::string{error}; }
  [[nodiscard]] std::string stuck() const {
    if (end != over) { return "the bulk does not end"; }
    return is_freed ? "" : "the bulk is not freed";
  }
};

// requirement: the ticket of a bulk becomes ready once, after all items have ended
TEST(BulkModel, TheLastOneEndsTheTicket) {
  exploration const found = explore(bulk_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each built-in error
TEST(BulkModelFlaws, AreFound) {
  for (flaw const each : {flaw::call_not_counted, flaw::count_before_open, flaw::count_before_name,
                          flaw::no_owner, flaw::end_before_remove}) {
    EXPECT_NE(explore(bulk_model{each}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
