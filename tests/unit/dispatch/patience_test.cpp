// What follows from having waited.

#include "dispatch/patience.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace flotilla::dispatch {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// regression: a thread that waited for the end of a long chain went along all of it in every look, and wrote into the
// lines of those who launched its tasks: 20 us a task instead of 3
TEST(Patience, MarksWhatIsAheadAtOnceAndThenSeldom) {
  patience waited{true};
  EXPECT_TRUE(waited.time_to_mark());
  int again = 0;
  auto const begin = clock::now();
  auto took = clock::duration::zero();
  for (; took < milliseconds{5}; took = clock::now() - begin) { again += waited.time_to_mark() ? 1 : 0; }
  EXPECT_TRUE(again > 0 || waited.time_to_mark()) << "who was kept from the processor meanwhile is due now";
  // Ten until the interval is a millisecond, and one in each of those.
  EXPECT_LE(again, 11 + static_cast<int>(took / milliseconds{1}));
}

// requirement: a helper runs what it submitted itself; where nothing moves for long, everything
TEST(Patience, ThatEndsHelpsWithEverything) {
  EXPECT_EQ(patience{true}.who().helper, 0u) << "nobody else could";
  patience waited{false};
  auto const begin = clock::now();
  std::uint32_t const helper = waited.who().helper;
  if (clock::now() - begin < milliseconds{1}) { EXPECT_NE(helper, 0u); }
  while (clock::now() - begin <= milliseconds{2}) {}
  EXPECT_EQ(waited.who().helper, 0u);
  auto const moved = clock::now();
  waited.moved();
  std::uint32_t const after = waited.who().helper;
  if (clock::now() - moved < milliseconds{1}) { EXPECT_EQ(after, helper); }
}

}  // namespace
}  // namespace flotilla::dispatch
