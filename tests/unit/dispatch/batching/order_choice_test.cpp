// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The choice between ordered grids and a grid for each wave, with made-up times.

#include "dispatch/batching/order_choice.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>

namespace flotilla::test {
namespace {

using dispatch::order_choice;

/// A device on which both ways have known times for each wave.
struct timed_device {
  float waves_ns, ordered_ns;
  bool can_order = true;
  order_choice choice{};
  int ordered = 0, measured = 0;

  /// Runs of which each is measured only if the choice wants it, or every 16th.
  void run(int count) {
    for (int i = 0; i < count; ++i) {
      bool const order = choice.begin_run() && can_order;
      ordered += order ? 1 : 0;
      bool const wish = choice.take_wish_for_sample();
      measured += wish ? 1 : 0;
      if (wish || i % 16 == 0) { choice.note(order, order ? ordered_ns : waves_ns); }
    }
  }
};

// requirement
TEST(OrderChoice, AClearlyFasterOrderIsUsed) {
  timed_device with{54'000, 36'000};
  with.run(1000);
  EXPECT_GT(with.ordered, 900);
}

// requirement: an ordered grid costs the host more, so a small gain does not count
TEST(OrderChoice, ASmallGainIsNotEnough) {
  timed_device with{24'000, 22'500};
  with.run(1000);
  EXPECT_LT(with.ordered, 60);
  EXPECT_GT(with.ordered, 3) << "it is tried from time to time";
}

// requirement: trials become rare
TEST(OrderChoice, TrialsBecomeRare) {
  timed_device with{1'700, 2'400};
  with.run(1000);
  int const before = with.ordered;
  with.run(10'000);
  EXPECT_LT(with.ordered - before, 30);
  EXPECT_LT(with.measured, 100);
}

// requirement: the choice follows the kernel, whose arguments may change what it does
TEST(OrderChoice, ChangesItsMind) {
  timed_device with{54'000, 36'000};
  with.run(100);
  with.waves_ns = 20'000;
  with.run(5000);
  int const before = with.ordered;
  with.run(100);
  EXPECT_LT(with.ordered - before, 20);
}

// requirement: one run that waited for other work decides nothing
TEST(OrderChoice, OneSlowRunDecidesNothing) {
  timed_device with{20'000, 22'000};
  with.run(100);
  int const before = with.ordered;
  with.choice.note(false, 500'000);
  with.run(20);
  EXPECT_LT(with.ordered - before, 5);
}

// regression: single samples differ more than the two ways do; these are of an H200
TEST(OrderChoice, SamplesThatDifferAreCompared) {
  order_choice choice;
  constexpr float waves[] = {50'614, 51'041, 36'071, 47'928, 48'490,
                             48'652, 46'835, 34'514, 46'941};
  constexpr float ordered[] = {37'293, 44'402, 44'191, 42'844, 43'844, 44'964, 45'423, 41'712};
  std::size_t next_wave = 0, next_ordered = 0;
  int count = 0;
  for (int i = 0; i < 500; ++i) {
    bool const order = choice.begin_run();
    count += order ? 1 : 0;
    if (!choice.take_wish_for_sample()) { continue; }
    choice.note(order, order ? ordered[next_ordered++ % std::size(ordered)]
                             : waves[next_wave++ % std::size(waves)]);
  }
  EXPECT_GT(count, 400);
}

// requirement: runs that cannot be ordered do not keep the trial open, which would measure each run
TEST(OrderChoice, RunsThatCannotBeOrderedEndTheTrial) {
  timed_device with{20'000, 1, false};
  with.run(1000);
  EXPECT_LT(with.measured, 100);
}

}  // namespace
}  // namespace flotilla::test
