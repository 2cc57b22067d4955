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
  two_words,  // the generation and `detached` change in separate steps
  puts_late,  // end changes the generation before it puts the failure into the table
};

/// Thread 0 ends the task. Thread 1 drops the ticket.
struct detach_model {
  static constexpr int threads = 2;
  static constexpr int moves = threads;
  enum places : signed char {
    // steps of task_end::end
    put_failure,
    move_generation,
    retire_if_detached,
    // steps of ticket_count::drop and drop_counted
    read_word,
    set_detached,
    retire_if_failed,
    finished,
  };
  /// The slot's generation word.
  struct word {
    bool moved = false;
    bool detached = false;
    auto operator<=>(word const&) const = default;
  };

  flaw with;
  std::array<places, threads> at;
  word generation{};
  word before{};  // the word that the exchange in task_end::end has returned
  word seen{};    // the word that the compare-exchange in `drop` expects
  bool in_table = false;
  int retired = 0;

  explicit detach_model(flaw broken)
      : with{broken}, at{broken == flaw::puts_late ? move_generation : put_failure, read_word} {}
  auto operator<=>(detach_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    switch (pc) {
      case put_failure:
        in_table = true;
        pc = with == flaw::puts_late ? retire_if_detached : move_generation;
        return true;
      case move_generation:
        before = generation;
        generation.moved = true;
        if (with != flaw::two_words) { generation.detached = false; }
        pc = with == flaw::puts_late ? put_failure : retire_if_detached;
        return true;
      case retire_if_detached:
        if (with == flaw::two_words ? generation.detached : before.detached) { ++retired; }
        pc = finished;
        return true;
      case read_word:
        seen = generation, pc = seen.moved ? retire_if_failed : set_detached;
        return true;
      case set_detached:
        if (with == flaw::two_words) {
          generation.detached = true, pc = retire_if_failed;
        } else if (generation != seen) {
          seen = generation, pc = seen.moved ? retire_if_failed : set_detached;
        } else {
          generation.detached = true, pc = finished;
        }
        return true;
      case retire_if_failed:
        if (generation.moved && in_table) { ++retired; }
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
TEST(DetachModel, FailureIsRetiredOnce) {
  exploration const found = explore(detach_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each built-in error
TEST(DetachModel, FlawsAreFound) {
  EXPECT_EQ(explore(detach_model{flaw::two_words}).wrong, "the failure was retired twice");
  EXPECT_EQ(explore(detach_model{flaw::puts_late}).wrong, "the failure is never retired");
}

}  // namespace
}  // namespace flotilla::test
