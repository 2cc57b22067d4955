// Every interleaving of drops with `close`: exactly one of them is the last.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// Two references on each of two shards, dropped by a thread each, against the thread that closes.
struct sharded_count_model {
  static constexpr int references = 3;
  static constexpr int threads = references + 1;
  static constexpr int moves = threads;
  static constexpr int closer = references;
  static constexpr int shards = 2;
  static constexpr int folded = -1000;

  int own = 0;  // references of `close` in `rest`: more than all others, in the broken model 1
  int rest = 0;
  std::array<int, shards> count{2, 1};
  std::array<signed char, threads> at{};  // where each thread is
  int counted = 0;                        // a register of the thread that closes
  int lasts = 0;             // how many threads were told that they had the last reference
  bool freed_early = false;  // a thread was told so while others were still dropping

  explicit sharded_count_model(int closing) : own{closing}, rest{closing} {}
  auto operator<=>(sharded_count_model const&) const = default;

  static constexpr signed char ended = 100;
  bool step(int thread) {
    signed char& pc = at[static_cast<std::size_t>(thread)];
    if (pc == ended) { return false; }
    if (lasts != 0) {
      freed_early = true;
    }  // the last thread has deleted the object that this thread is about to access
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
    if (lasts > 1) { return "two were told that they were the last"; }
    return freed_early ? "one was told that it was the last before the others were done" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return lasts == 1 ? "" : "no thread was told that it had the last reference";
  }
};

// requirement
TEST(ShardedCountModel, ExactlyOneIsTheLast) {
  exploration const found = explore(sharded_count_model{100});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}

// regression: a drop on a folded shard whose count has not reached `rest_` yet takes a reference of
// `close`
TEST(ShardedCountModel, ASmallBiasOfCloseIsFound) {
  EXPECT_NE(explore(sharded_count_model{1}).wrong, "");
}

}  // namespace
}  // namespace flotilla::test
