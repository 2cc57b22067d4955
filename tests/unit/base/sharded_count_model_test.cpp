// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Checks every interleaving of `drop` calls and one call of `close`: exactly one thread must be
// told that no reference is left.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// Three references on two shards. Three threads drop one reference each, while a fourth thread
/// calls `close`.
struct sharded_count_model {
  static constexpr int references = 3;
  static constexpr int threads = references + 1;
  static constexpr int moves = threads;
  static constexpr int closer = references;
  static constexpr int shards = 2;
  static constexpr int folded = -1000;

  // The initial value of `rest`. At its end, `close` subtracts this value. The broken model uses 1.
  int own = 0;
  int rest = 0;
  std::array<int, shards> count{2, 1};
  std::array<signed char, threads> at{};  // each thread's next step
  int counted = 0;                        // the count that the closing thread has just read
  int lasts = 0;                          // threads that were told: no reference is left
  bool freed_early = false;               // a thread made a step after another was told so

  explicit sharded_count_model(int closing) : own{closing}, rest{closing} {}
  auto operator<=>(sharded_count_model const&) const = default;

  static constexpr signed char ended = 100;
  bool step(int thread) {
    signed char& pc = at[static_cast<std::size_t>(thread)];
    if (pc == ended) { return false; }
    // This thread accesses the object after another thread may have deleted it.
    if (lasts != 0) { freed_early = true; }
    if (thread == closer) {
      close(pc);
    } else {
      drop(pc, static_cast<std::size_t>(thread % shards));
    }
    return true;
  }
  void drop(signed char& pc, std::size_t shard) {
    if (pc == 0) {
      pc = count[shard]-- <= folded / 2 ? 1 : ended;
    } else {
      pc = ended;
      if (rest-- == 1) { ++lasts; }
    }
  }
  void close(signed char& pc) {
    if (pc == 2 * shards) {
      pc = ended;
      rest -= own;
      if (rest == 0) { ++lasts; }
    } else if (pc % 2 == 0) {
      int& shard = count[static_cast<std::size_t>(pc / 2)];
      counted = shard;
      shard = folded;
      ++pc;
    } else {
      rest += counted;
      ++pc;
    }
  }
  [[nodiscard]] std::string wrong() const {
    if (lasts > 1) { return "two threads had the last reference"; }
    return freed_early ? "a thread had the last reference before the other threads were done" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return lasts == 1 ? "" : "no thread had the last reference";
  }
};

// requirement
TEST(ShardedCountModel, ExactlyOneIsTheLast) {
  exploration const found = explore(sharded_count_model{100});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}

// regression: if the initial value of `rest_` is only 1, drops can decrement it to zero before
// `close` has folded all shards
TEST(ShardedCountModel, ASmallBiasOfCloseIsFound) {
  EXPECT_NE(explore(sharded_count_model{1}).wrong, "");
}

}  // namespace
}  // namespace flotilla::test
