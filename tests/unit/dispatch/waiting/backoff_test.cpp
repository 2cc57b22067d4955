// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Decisions that depend on how long a thread has waited. The tests pass all times as arguments.

#include "dispatch/waiting/backoff.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace flotilla::dispatch {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr backoff::clock::time_point start{std::chrono::hours{1}};

// regression: a thread that waited for the last task of a long chain marked every task of the chain
// as demanded, and repeated this in every round. It wrote to cache lines that other threads needed
// to launch the chain. Therefore each task took 20 us instead of 3 us.
TEST(Backoff, PropagatesDemandAtOnceAndThenRarely) {
  backoff waited{true, start};
  EXPECT_TRUE(waited.should_propagate(start));
  int again = 0;
  for (microseconds passed{0}; passed < milliseconds{5}; passed += microseconds{1}) {
    again += waited.should_propagate(start + passed) ? 1 : 0;
  }
  // At first, the time from one propagation to the next doubles. After ten propagations it stays at
  // 1 ms.
  EXPECT_GE(again, 10);
  EXPECT_LE(again, 15);
  EXPECT_TRUE(waited.should_propagate(start + milliseconds{10}))
      << "after a long pause, the thread propagates at once";
}

// requirement: at first, a helper runs only callables that its own thread has submitted. After a
// time without progress, it runs the callables of all threads.
TEST(Backoff, EndsTheRestraintOfHelpers) {
  EXPECT_EQ(backoff{true}.filter().helper, 0u)
      << "without other threads, the helper must run all callables";
  backoff waited{false, start};
  std::uint32_t const helper = waited.filter(start).helper;
  EXPECT_NE(helper, 0u);
  EXPECT_EQ(waited.filter(start + milliseconds{1}).helper, helper);
  EXPECT_EQ(waited.filter(start + microseconds{1001}).helper, 0u);
  waited.reset(start + milliseconds{2});
  EXPECT_EQ(waited.filter(start + milliseconds{3}).helper, helper);
  EXPECT_EQ(waited.filter(start + microseconds{3001}).helper, 0u);
}

}  // namespace
}  // namespace flotilla::dispatch
