// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Inboxes, and the registry in which consumers find them.

#include "dispatch/queue/inbox_registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace flotilla::dispatch {
namespace {

// requirement
TEST(Inbox, GivesInTheOrderOfPushing) {
  inbox box{8};
  EXPECT_TRUE(box.empty());
  for (slot_address each : {5u, 3u, 9u}) { box.push(each); }
  EXPECT_FALSE(box.empty());
  slot_address got[8];
  EXPECT_EQ(box.pop(got, 0), 0u);
  ASSERT_EQ(box.pop(got, 2), 2u);
  EXPECT_EQ(got[0], 5u);
  EXPECT_EQ(got[1], 3u);
  ASSERT_EQ(box.pop(got, 8), 1u);
  EXPECT_EQ(got[0], 9u);
  EXPECT_TRUE(box.empty());
}

// requirement: an inbox has room for all slots of the window
TEST(Inbox, HoldsAWholeWindow) {
  constexpr std::size_t window = 64;
  inbox box{window};
  std::vector<slot_address> got(2 * window);
  for (int round = 0; round < 5; ++round) {
    for (slot_address i = 0; i < window; ++i) { box.push(i); }
    ASSERT_EQ(box.pop(got.data(), got.size()), window);
    for (slot_address i = 0; i < window; ++i) { EXPECT_EQ(got[i], i); }
    box.push(1);  // so that the next round begins at another index
    ASSERT_EQ(box.pop(got.data(), 1), 1u);
  }
}

// requirement
TEST(Inbox, IsClaimedByOneConsumer) {
  inbox box{8};
  EXPECT_TRUE(box.try_claim());
  EXPECT_FALSE(box.try_claim());
  box.unclaim();
  EXPECT_TRUE(box.try_claim());
}

// stress: several consumers together take each slot exactly once, because only one consumer at a
// time can claim the inbox
TEST(Inbox, DeliversEachSlotOnceToWhoeverHasTheClaim) {
  constexpr slot_address slots = 20000;
  inbox box{slots};
  std::vector<int> seen(slots);  // not atomic: the claim orders the accesses
  slot_address delivered = 0;
  std::vector<std::thread> consumers;
  std::atomic<bool> over{false};
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&] {
      slot_address got[7];
      while (!over) {
        if (!box.try_claim()) {
          std::this_thread::yield();
          continue;
        }
        std::size_t const count = box.pop(got, std::size(got));
        for (std::size_t k = 0; k < count; ++k) { ++seen[got[k]]; }
        delivered += static_cast<slot_address>(count);
        if (delivered == slots) { over = true; }
        box.unclaim();
      }
    });
  }
  for (slot_address i = 0; i < slots; ++i) { box.push(i); }
  for (std::thread& each : consumers) { each.join(); }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(slots));
}

// requirement
TEST(InboxRegistry, ShowsWhatWasOpened) {
  inbox_registry registry;
  inbox_registry::view seen;
  registry.refresh(seen);
  EXPECT_TRUE(seen.boxes.empty());
  std::shared_ptr<inbox> const first = registry.open(8);
  std::shared_ptr<inbox> const second = registry.open(8);
  EXPECT_TRUE(seen.boxes.empty()) << "only refresh changes a view";
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 2u);
  EXPECT_EQ(seen.boxes[0], first);
  EXPECT_EQ(seen.boxes[1], second);
}

// requirement: a view lists the inboxes of the highest priority first
TEST(InboxRegistry, ShowsTheMostUrgentFirst) {
  inbox_registry registry;
  inbox_registry::view seen;
  registry.refresh(seen);
  EXPECT_EQ(seen.highest(), 0);
  EXPECT_TRUE(seen.at(0).empty());
  std::vector<std::shared_ptr<inbox>> opened;
  for (unsigned const level : {0u, 3u, 0u, 5u, 3u}) {
    opened.push_back(registry.open(8, static_cast<priority_level>(level)));
  }
  registry.refresh(seen);
  EXPECT_EQ(seen.highest(), 5);
  EXPECT_EQ(seen.boxes, (std::vector{opened[3], opened[1], opened[4], opened[0], opened[2]}));
  auto const all = [&seen](priority_level level) {
    auto const found = seen.at(level);
    return std::vector(found.begin(), found.end());
  };
  EXPECT_EQ(all(5), std::vector{opened[3]});
  EXPECT_TRUE(all(4).empty());
  EXPECT_EQ(all(3), (std::vector{opened[1], opened[4]}));
  EXPECT_TRUE(all(1).empty());
  EXPECT_EQ(all(0), (std::vector{opened[0], opened[2]}));
  EXPECT_EQ(seen.above(0).size(), 3u);
  EXPECT_EQ(seen.above(3).size(), 1u);
  EXPECT_TRUE(seen.above(5).empty());
}

// requirement: an inbox is removed only if its thread has ended and the inbox is empty
TEST(InboxRegistry, SweepsEmptyOrphansOnly) {
  slot_pool pool{0, 64};
  inbox_registry registry;
  std::shared_ptr<inbox> const living = registry.open(8);
  std::shared_ptr<inbox> const full = registry.open(8);
  std::shared_ptr<inbox> orphan = registry.open(8);
  full->push(1);
  full->orphan();
  orphan->orphan();
  std::weak_ptr<inbox> const gone = std::exchange(orphan, nullptr);
  registry.sweep(pool);
  inbox_registry::view seen;
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 2u);
  EXPECT_EQ(seen.boxes[0], living);
  EXPECT_EQ(seen.boxes[1], full);
  EXPECT_TRUE(gone.expired());
  slot_address got = 0;
  ASSERT_EQ(full->pop(&got, 1), 1u);
  registry.sweep(pool);
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 1u);
}

}  // namespace
}  // namespace flotilla::dispatch
