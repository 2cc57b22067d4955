// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Checks every interleaving of the model of parked tasks, and that the checker finds built-in
// errors.

#include <gtest/gtest.h>

#include "unit/dispatch/ordering/park_model.hpp"

namespace flotilla::test {
namespace {

// requirement
TEST(ParkModel, DependentsGoOnByTheirPredecessor) {
  using enum park_model::story;
  for (park_model::story const each : {ends_well, runs_long, fails_unlaunched}) {
    exploration const found = explore(park_model{each, park_model::flaw::none});
    EXPECT_EQ(found.wrong, "") << found;
    EXPECT_GT(found.states, 50u);
  }
}

// requirement: the checker finds each built-in error
TEST(ParkModel, FlawsAreFound) {
  using enum park_model::story;
  using enum park_model::flaw;
  auto const found = [](park_model::story what, park_model::flaw with) {
    return explore(park_model{what, with}).wrong;
  };
  EXPECT_EQ(found(ends_well, no_generation), "a task was parked on another task of the slot");
  EXPECT_EQ(found(runs_long, no_confirm), "a task is parked forever");
  EXPECT_EQ(found(fails_unlaunched, fails_late),
            "a task treated its failed predecessor as successful");
  EXPECT_EQ(found(ends_well, keeps_batched), "requeued twice");
  EXPECT_EQ(found(ends_well, forgets_others), "a task is parked forever");
  EXPECT_EQ(found(ends_well, looks_once), "a task used the end mark of another task");
  EXPECT_EQ(found(fails_unlaunched, follows_late), "a task is parked forever");
  EXPECT_EQ(found(fails_unlaunched, never_follows), "a task is parked forever");
}

}  // namespace
}  // namespace flotilla::test
