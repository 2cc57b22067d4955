// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/epoch_reclaimer.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla::dispatch {
namespace {

using kinds = epoch_reclaimer::kinds;

bool anything(epoch_reclaimer::item const&) { return true; }

epoch_reclaimer::item memory(std::uint64_t address, unsigned device = 0) {
  return {.kind = kinds::device_memory, .device = device, .address = address};
}

// requirement: an item can be taken as soon as all tasks have ended that were submitted before the
// item was retired, and not earlier
TEST(EpochReclaimer, KeepsWhatAnOpenTaskMayUse) {
  epoch_reclaimer reclaimer;
  EXPECT_TRUE(reclaimer.empty());
  std::uint64_t const task = reclaimer.epoch();
  reclaimer.retire(memory(1));
  EXPECT_FALSE(reclaimer.empty());
  std::uint64_t const later_task = reclaimer.epoch();
  EXPECT_GT(later_task, task);
  EXPECT_FALSE(reclaimer.take(task, anything).has_value())
      << "the open task was submitted before the retirement";
  EXPECT_EQ(reclaimer.take(later_task, anything)->address, 1u)
      << "a later task cannot use the memory";
  EXPECT_FALSE(reclaimer.take(later_task, anything).has_value());
  EXPECT_TRUE(reclaimer.empty());
}

// requirement: a pin keeps the items that are retired while it exists, and no others
TEST(EpochReclaimer, KeepsWhatIsRetiredDuringAPin) {
  epoch_reclaimer reclaimer;
  reclaimer.retire(memory(1));
  {
    epoch_reclaimer::pin const first{reclaimer};
    EXPECT_EQ(first.epoch(), reclaimer.epoch());
    reclaimer.retire(memory(2));
    epoch_reclaimer::pin const second{reclaimer};
    EXPECT_EQ(reclaimer.oldest_pinned(), first.epoch());
    EXPECT_EQ(reclaimer.take(reclaimer.oldest_pinned(), anything)->address, 1u);
    EXPECT_FALSE(reclaimer.take(reclaimer.oldest_pinned(), anything).has_value());
  }
  EXPECT_EQ(reclaimer.oldest_pinned(), reclaimer.epoch());
  EXPECT_EQ(reclaimer.take(reclaimer.oldest_pinned(), anything)->address, 2u);
}

// requirement: if no task is open, every item can be taken
TEST(EpochReclaimer, GivesEverythingOfClosedEpochs) {
  epoch_reclaimer reclaimer;
  for (std::uint64_t i = 0; i < 10; ++i) { reclaimer.retire(memory(i)); }
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(reclaimer.take(reclaimer.epoch(), anything)->address, i);
  }
  EXPECT_TRUE(reclaimer.empty());
}

// requirement: `take` returns only items that the predicate accepts, and keeps the order of the
// others
TEST(EpochReclaimer, GivesOnlyWhatIsAcceptable) {
  epoch_reclaimer reclaimer;
  for (std::uint64_t i = 0; i < 6; ++i) {
    reclaimer.retire(memory(i, static_cast<unsigned>(i % 2)));
  }
  auto const odd = [](epoch_reclaimer::item const& each) { return each.device == 1; };
  std::vector<std::uint64_t> got;
  while (auto const item = reclaimer.take(reclaimer.epoch(), odd)) { got.push_back(item->address); }
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1, 3, 5}));
  got.clear();
  while (auto const item = reclaimer.take(reclaimer.epoch(), anything)) {
    got.push_back(item->address);
  }
  EXPECT_EQ(got, (std::vector<std::uint64_t>{0, 2, 4}));
}

// requirement: an item for which room was kept is retired without memory, and room that is not
// kept goes back
TEST(EpochReclaimer, RetiresIntoRoomThatWasKept) {
  epoch_reclaimer reclaimer;
  for (int round = 0; round < 3; ++round) {
    { epoch_reclaimer::room const unused{reclaimer}; }
    for (int i = 0; i < 5; ++i) {
      epoch_reclaimer::room room{reclaimer};
      room.keep();
    }
    EXPECT_TRUE(reclaimer.empty());
    for (std::uint64_t i = 0; i < 5; ++i) { reclaimer.retire_in_room(memory(i)); }
    reclaimer.retire(memory(5));
    for (std::uint64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(reclaimer.take(reclaimer.epoch(), anything)->address, i);
    }
    EXPECT_TRUE(reclaimer.empty());
  }
}

// requirement: an item of the kind `failure` keeps the slot address and the generation
TEST(EpochReclaimer, KeepsWhatAnItemSays) {
  epoch_reclaimer reclaimer;
  reclaimer.retire({.kind = kinds::failure, .address = 0x10007, .generation = 99});
  std::optional<epoch_reclaimer::item> const got = reclaimer.take(reclaimer.epoch(), anything);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->kind, kinds::failure);
  EXPECT_EQ(got->address, 0x10007u);
  EXPECT_EQ(got->generation, 99u);
}

}  // namespace
}  // namespace flotilla::dispatch
