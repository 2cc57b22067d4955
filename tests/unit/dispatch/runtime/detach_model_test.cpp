// Every interleaving of a task's bad end with the drop of its ticket: exactly one of the two gives
// the failure up. Follows core::end and core::drop_ticket step by step.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// How the model differs from the code, so that the checker has something to find.
enum class flaw : signed char {
  none,
  two_words,  // that the ticket is gone, and the generation, are changed in steps of their own
  puts_late,  // the generation moves before the failure is in the table
};

struct detach_model {
  static constexpr int threads = 2;
  static constexpr int moves = threads;
  enum places : signed char { put, move, ask, detach, look, finished };

  flaw with;
  std::array<places, threads> at;
  bool moved = false;
  bool detached = false;
  bool detached_before = false;  // what the exchange saw
  bool in_table = false;
  int given_up = 0;

  explicit detach_model(flaw which)
      : with{which}, at{which == flaw::puts_late ? move : put, detach} {}
  auto operator<=>(detach_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    switch (pc) {
      // the end
      case put: in_table = true, pc = with == flaw::puts_late ? ask : move; return true;
      case move:
        moved = true;
        detached_before = detached;
        pc = with == flaw::puts_late ? put : ask;
        return true;
      case ask:
        if (with == flaw::two_words ? detached : detached_before) { ++given_up; }
        pc = finished;
        return true;
      // the drop
      case detach:
        if (with == flaw::two_words) {
          detached = true, pc = look;
        } else {
          pc = moved ? look : finished;
          detached = !moved;
        }
        return true;
      case look:
        if (moved && in_table) { ++given_up; }
        pc = finished;
        return true;
      case finished: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const { return given_up > 1 ? "given up twice" : ""; }
  [[nodiscard]] std::string stuck() const { return given_up == 1 ? "" : "kept for ever"; }
};

// requirement
TEST(DetachModel, AFailureIsGivenUpOnce) {
  exploration const found = explore(detach_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

// The checker finds what it is there for.
TEST(DetachModel, FlawsAreFound) {
  EXPECT_EQ(explore(detach_model{flaw::two_words}).wrong, "given up twice");
  EXPECT_EQ(explore(detach_model{flaw::puts_late}).wrong, "kept for ever");
}

}  // namespace
}  // namespace flotilla::test
