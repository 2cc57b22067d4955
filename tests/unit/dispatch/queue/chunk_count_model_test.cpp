// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A thread pushes single tasks and the first chunk of a bulk into an inbox, while a device takes
// them and counts what it holds, chunks and other tasks apart. Checks every interleaving: when all
// tasks have ended, both counts must be 0. The model follows the steps of submitter::submit_to,
// intake::pop_shared and task_end.

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  looks_once,      // the device does not look again after it has taken tasks
  announces_late,  // the thread announces a chunk after it has pushed it
};

/// Move 0 is a step of the thread that submits, move 1 a step of the device.
struct chunk_count_model {
  static constexpr int moves = 2;
  static constexpr int tasks = 3;
  static constexpr int max_taken = 2;
  static constexpr bool is_chunk(int task) { return task != 0; }

  enum places : signed char { look, take, look_again, count, end };

  flaw with;
  int pushed = 0;
  bool must_announce = false;  // with announces_late: after the push
  bool announced = false;
  places at = look;
  int first = 0, last = 0;  // the device has taken the tasks from `first` to `last` - 1
  bool counts_by_kind = false;
  int held = 0, chunks = 0;

  explicit chunk_count_model(flaw broken) : with{broken} {}
  auto operator<=>(chunk_count_model const&) const = default;

  bool step(int move) { return move == 0 ? submit() : drive(); }

  bool submit() {
    if (must_announce) {
      announced = true, must_announce = false;
      return true;
    }
    if (pushed == tasks) { return false; }
    if (is_chunk(pushed) && !announced && with != flaw::announces_late) {
      announced = true;
      return true;
    }
    must_announce = is_chunk(pushed) && !announced;
    ++pushed;
    return true;
  }
  bool drive() {
    switch (at) {
      case look:
        if (last == pushed) { return false; }
        first = last, counts_by_kind = announced, at = take;
        return true;
      case take:
        last = std::min(pushed, first + max_taken);
        at = counts_by_kind || with == flaw::looks_once ? count : look_again;
        return true;
      case look_again: counts_by_kind = announced, at = count; return true;
      case count: add(1), at = end; return true;
      case end:
        counts_by_kind = true;  // the end of a task looks at its kind
        add(-1), at = look;
        return true;
    }
    return false;
  }
  void add(int amount) {
    for (int task = first; task < last; ++task) {
      (counts_by_kind && is_chunk(task) ? chunks : held) += amount;
    }
  }
  [[nodiscard]] std::string wrong() const {
    return held < 0 || chunks < 0 ? "a count is less than 0" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return held == 0 && chunks == 0 ? "" : "a count is not 0 at the end";
  }
};

// requirement
TEST(ChunkCountModel, BothCountsReturnToZero) {
  exploration const found = explore(chunk_count_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 20u);
}

// requirement: the checker finds each built-in error
TEST(ChunkCountModel, FlawsAreFound) {
  EXPECT_EQ(explore(chunk_count_model{flaw::looks_once}).wrong, "a count is less than 0");
  EXPECT_EQ(explore(chunk_count_model{flaw::announces_late}).wrong, "a count is less than 0");
}

}  // namespace
}  // namespace flotilla::test
