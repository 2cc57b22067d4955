// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/sharded_count.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace flotilla::base {
namespace {

// requirement
TEST(ShardedCount, WithoutReferencesCloseIsTheLast) {
  sharded_count count;
  EXPECT_TRUE(count.close());
}

// requirement: before `close`, no call of `drop` returns true, even if the count is zero
TEST(ShardedCount, NoDropIsTheLastBeforeClose) {
  sharded_count count;
  for (std::uint32_t at = 0; at < 3 * sharded_count::shards; ++at) {
    count.take(at);
    EXPECT_FALSE(count.drop(at));
  }
  EXPECT_TRUE(count.close());
}

// requirement
TEST(ShardedCount, TheLastDropAfterCloseReturnsTrue) {
  sharded_count count;
  for (std::uint32_t at : {0u, 0u, 1u, 7u, 33u}) { count.take(at); }
  EXPECT_FALSE(count.close());
  for (std::uint32_t at : {33u, 0u, 7u, 0u}) { EXPECT_FALSE(count.drop(at)); }
  EXPECT_TRUE(count.drop(1));
}

// requirement: a reference can be dropped before it is taken, and on another shard
TEST(ShardedCount, MayBeDroppedElsewhereAndBeforeItIsTaken) {
  sharded_count count;
  EXPECT_FALSE(count.drop(3));
  count.take(5, 3);
  EXPECT_FALSE(count.drop(4));
  EXPECT_FALSE(count.close());
  EXPECT_TRUE(count.drop(6));
}

// stress: the thread that drops the last reference deletes the count. If two threads deleted the
// count, or a thread deleted it too early, a sanitizer would report a use after free.
TEST(ShardedCount, OfManyThreadsExactlyOneIsTheLast) {
  constexpr std::uint32_t droppers = 3;
  for (int round = 0; round < 300; ++round) {
    auto* const count = new sharded_count;
    for (std::uint32_t at = 0; at < droppers; ++at) {
      for (int i = 0; i < 2; ++i) { count->take(at); }
    }
    std::atomic<int> lasts{0};
    std::barrier together{droppers + 1};
    std::vector<std::thread> threads;
    for (std::uint32_t at = 0; at < droppers; ++at) {
      threads.emplace_back([&, at] {
        together.arrive_and_wait();
        for (int i = 0; i < 2; ++i) {
          if (count->drop(at)) { ++lasts, delete count; }
        }
      });
    }
    together.arrive_and_wait();
    if (count->close()) { ++lasts, delete count; }
    for (std::thread& each : threads) { each.join(); }
    ASSERT_EQ(lasts, 1);
  }
}

}  // namespace
}  // namespace flotilla::base
