// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A task fails while its ticket is dropped. Checks every interleaving: exactly one of the two
// threads must retire the failure. The model follows the steps of task_end::end, ticket_count::drop
// and drop_counted.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  two_steps,  // ticket_word::settle reads the word and writes it in separate steps
  puts_late,  // end settles the ticket before it puts the failure into the table
};

/// Thread 0 ends the task. Thread 1 drops the ticket.
struct ticket_model {
  static constexpr int threads = 2;
  static constexpr int moves = threads;
  enum places : signed char {
    put_failure,  // only thread 0
    settle,
    settle_later,  // the second step if the flaw is two_steps
    retire,
    finished,
  };

  flaw with;
  std::array<places, threads> at;
  bool settled = false;               // the slot's ticket_word
  std::array<bool, threads> first{};  // what `settle` has returned
  bool in_table = false;
  int retired = 0;

  explicit ticket_model(flaw broken)
      : with{broken}, at{broken == flaw::puts_late ? settle : put_failure, settle} {}
  auto operator<=>(ticket_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    bool& is_first = first[static_cast<std::size_t>(me)];
    bool const ends = me == 0;
    switch (pc) {
      case put_failure:
        in_table = true;
        pc = with == flaw::puts_late ? retire : settle;
        return true;
      case settle:
        is_first = !settled;
        if (with == flaw::two_steps) {
          pc = settle_later;
          return true;
        }
        [[fallthrough]];
      case settle_later:
        settled = true;
        pc = ends && with == flaw::puts_late ? put_failure : retire;
        return true;
      case retire:
        // The thread that comes second retires the failure, if there is one.
        if (!is_first && in_table) { ++retired; }
        pc = finished;
        return true;
      case finished: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const {
    return retired > 1 ? "the failure was retired twice" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return retired == 1 ? "" : "the failure is never retired";
  }
};

// requirement
TEST(TicketModel, FailureIsRetiredOnce) {
  exploration const found = explore(ticket_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each built-in error
TEST(TicketModel, FlawsAreFound) {
  EXPECT_EQ(explore(ticket_model{flaw::two_steps}).wrong, "the failure is never retired");
  EXPECT_EQ(explore(ticket_model{flaw::puts_late}).wrong, "the failure is never retired");
}

}  // namespace
}  // namespace flotilla::test
