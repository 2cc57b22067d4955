// What follows from how long a thread has waited. The tests pass their own time.

#include "dispatch/waiting/backoff.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace flotilla::dispatch {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr backoff::clock::time_point start{std::chrono::hours{1}};

// regression: a thread that waited for the end of a long chain marked the whole chain in every
// look, and so wrote into the lines of the threads that launched its tasks: 20 us a task, not 3
TEST(Backoff, PropagatesDemandAtOnceAndThenRarely) {
  backoff waited{true, start};
  EXPECT_TRUE(waited.should_propagate(start));
  int again = 0;
  for (microseconds passed{0}; passed < milliseconds{5}; passed += microseconds{1}) {
    again += waited.should_propagate(start + passed) ? 1 : 0;
  }
  // Ten until the interval is a millisecond, and one in each millisecond after that.
  EXPECT_GE(again, 10);
  EXPECT_LE(again, 15);
  EXPECT_TRUE(waited.should_propagate(start + milliseconds{10}))
      << "a thread that got no processor meanwhile marks at once";
}

// requirement: a helper runs the callables that it submitted; after a time without progress, all
TEST(Backoff, EndsTheRestraintOfHelpers) {
  EXPECT_EQ(backoff{true}.filter().helper, 0u) << "no other thread could";
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
