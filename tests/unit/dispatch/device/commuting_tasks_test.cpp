// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

#include "dispatch/device/commuting_tasks.hpp"

#include <gtest/gtest.h>

namespace flotilla::test {
namespace {

using dispatch::task_key;

task_key turn(std::uint32_t number) {
  task_id const made = dispatch::make_turn(number);
  return {made.slot, static_cast<std::uint32_t>(made.generation)};
}

// requirement
TEST(CommutingTasks, FollowOneAnother) {
  dispatch::commuting_tasks tasks;
  EXPECT_TRUE(turn(7).is_turn());
  task_key const nothing = tasks.take(turn(7), {.slot = 1, .generation = 3});
  EXPECT_FALSE(nothing.is_task());
  EXPECT_FALSE(nothing.is_turn());
  EXPECT_FALSE(tasks.take(turn(8), {.slot = 2, .generation = 3}).is_task());
  EXPECT_EQ(tasks.take(turn(7), {.slot = 5, .generation = 9}).slot, 1u);
  task_key const last = tasks.take(turn(7), {.slot = 6, .generation = 1});
  EXPECT_EQ(last.slot, 5u);
  EXPECT_EQ(last.generation, 9u);
}

// requirement: turns that share an entry make one order
TEST(CommutingTasks, TurnsMayShareAnEntry) {
  dispatch::commuting_tasks tasks;
  EXPECT_FALSE(tasks.take(turn(1), {.slot = 1, .generation = 3}).is_task());
  EXPECT_EQ(tasks.take(turn(1 + 4096), {.slot = 2, .generation = 3}).slot, 1u);
  EXPECT_EQ(tasks.take(turn(1), {.slot = 3, .generation = 3}).slot, 2u);
}

}  // namespace
}  // namespace flotilla::test
