// Checks every interleaving of the failed end of a task with the drop of its ticket: exactly one of
// the two must retire the failure. The model follows the steps of task_end::end, ticket_count::drop
// and drop_counted.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// A difference between the model and the code. The checker must find each flaw.
enum class flaw : signed char {
  none,
  two_words,  // `detached` and the generation change in separate steps
  puts_late,  // the generation changes before the failure is in the table
};

/// Thread 0 ends the task, thread 1 drops the ticket.
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
  word before{};  // the result of the exchange in task_end::end
  word seen{};    // the expected value of the compare-exchange in `drop`
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
  [[nodiscard]] std::string wrong() const { return retired > 1 ? "retired twice" : ""; }
  [[nodiscard]] std::string stuck() const { return retired == 1 ? "" : "kept forever"; }
};

// requirement
TEST(DetachModel, FailureIsRetiredOnce) {
  exploration const found = explore(detach_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each flaw
TEST(DetachModel, FlawsAreFound) {
  EXPECT_EQ(explore(detach_model{flaw::two_words}).wrong, "retired twice");
  EXPECT_EQ(explore(detach_model{flaw::puts_late}).wrong, "kept forever");
}

}  // namespace
}  // namespace flotilla::test
