// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/slot_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "dispatch/task/slot_returns.hpp"

namespace flotilla::dispatch {
namespace {

using cursor = slot_pool::cursor;

// requirement
TEST(SlotPool, HandsOutEachSlotOnceUntilTheWindowIsFull) {
  slot_pool pool{3, 100};
  cursor mine;
  std::set<slot_address> taken;
  for (int i = 0; i < 100; ++i) {
    slot_address const got = pool.take(mine);
    ASSERT_NE(got, no_slot);
    EXPECT_EQ(got >> 16, 3u) << "the upper half of an address is the pool's number";
    EXPECT_LT(got & 0xffff, 100u);
    EXPECT_TRUE(taken.insert(got).second) << "a slot was taken twice";
  }
  EXPECT_EQ(pool.take(mine), no_slot);
  EXPECT_FALSE(pool.any_free());
  EXPECT_EQ(pool.used(), 100u);
  pool.give_back(*taken.begin());
  EXPECT_TRUE(pool.any_free());
  EXPECT_EQ(pool.take(mine), *taken.begin());
  EXPECT_EQ(pool.window(), 100u);
}

// requirement: a pool can have the largest allowed window
TEST(SlotPool, HasAsManySlotsAsAnAddressCanName) {
  slot_pool pool{0, 65000};
  cursor mine;
  for (std::size_t i = 0; i < 65000; ++i) { ASSERT_NE(pool.take(mine), no_slot) << i; }
  EXPECT_EQ(pool.take(mine), no_slot);
}

// requirement: if few tasks are open at a time, few pages of memory are used
TEST(SlotPool, TouchesLowSlotsFirst) {
  slot_pool pool{0, 1000};
  cursor mine;
  EXPECT_EQ(pool.touched(), 0u);
  for (int round = 0; round < 50; ++round) {
    slot_address const a = pool.take(mine);
    slot_address const b = pool.take(mine);
    pool.give_back(a);
    pool.give_back(b);
  }
  EXPECT_EQ(pool.touched(), slot_pool::block_slots);
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_FALSE(pool.any_used());
}

// requirement: the window can be any number, even if it is not a multiple of the block size
TEST(SlotPool, CountsOnlySlotsThatThereAre) {
  slot_pool pool{0, 70};
  cursor mine;
  std::vector<slot_address> taken;
  for (slot_address got = pool.take(mine); got != no_slot; got = pool.take(mine)) {
    taken.push_back(got);
  }
  EXPECT_EQ(taken.size(), 70u);
  EXPECT_EQ(pool.used(), 70u);
  EXPECT_EQ(pool.touched(), 70u);
  for (slot_address const each : taken) { pool.give_back(each); }
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_FALSE(pool.any_used());
}

// requirement: if no block is offered, a thread can take free slots of blocks that other threads
// hold
TEST(SlotPool, IsFullOnlyWhenEverySlotIsTaken) {
  slot_pool pool{0, 96};
  cursor idle[3], busy;
  std::set<slot_address> taken;
  for (cursor& each : idle) { taken.insert(pool.take(each)); }
  for (slot_address got = pool.take(busy); got != no_slot; got = pool.take(busy)) {
    EXPECT_TRUE(taken.insert(got).second);
  }
  EXPECT_LT(taken.size(), 96u) << "the other cursors hold the three blocks";
  for (slot_address got = pool.take_any(); got != no_slot; got = pool.take_any()) {
    EXPECT_TRUE(taken.insert(got).second);
  }
  EXPECT_EQ(taken.size(), 96u);
}

// requirement: threads share a block only if there are fewer blocks than threads
TEST(SlotPool, GivesEachThreadABlockOfItsOwn) {
  slot_pool pool{0, 256};
  cursor a, b;
  std::uint32_t const block_of_a = pool.take(a) / slot_pool::block_slots;
  std::uint32_t const block_of_b = pool.take(b) / slot_pool::block_slots;
  EXPECT_NE(block_of_a, block_of_b);
  EXPECT_EQ(pool.take(a) / slot_pool::block_slots, block_of_a);
}

// requirement: after a thread has released a block, other threads can take the block's free slots
TEST(SlotPool, OffersWhatWasLetGo) {
  slot_pool pool{0, 64};
  cursor gone, stays;
  static_cast<void>(pool.take(gone));
  static_cast<void>(pool.take(stays));
  std::uint32_t const block = gone.block();
  pool.release(gone);
  for (int i = 0; i < 31; ++i) { ASSERT_NE(pool.take(stays), no_slot); }
  ASSERT_NE(pool.take(stays), no_slot);
  EXPECT_EQ(stays.block(), block);
}

// requirement: a thread that waits for a slot can find out from one word whether slots were given
// back
TEST(SlotPool, SaysThatSlotsCameBack) {
  slot_pool pool{0, 64};
  cursor mine;
  slot_address const taken = pool.take(mine);
  std::uint32_t const before = pool.returns();
  pool.give_back(taken);
  EXPECT_NE(pool.returns(), before);
}

// requirement: several slots of a block can be given back in one step
TEST(SlotPool, TakesRunsBack) {
  slot_pool pool{2, 128};
  cursor mine;
  std::vector<slot_address> taken;
  for (int i = 0; i < 100; ++i) { taken.push_back(pool.take(mine)); }
  {
    slot_returns back;
    for (slot_address const each : taken) { back.add(pool, each); }
  }
  EXPECT_EQ(pool.used(), 0u);
}

// requirement
TEST(SlotPool, GivesSlotsOfZeros) {
  slot_pool pool{0, 64};
  for (std::uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(pool[i].generation.load(), 0u);
    EXPECT_EQ(pool[i].end.load(), 0u);
  }
}

// requirement
TEST(SlotSide, KeepsAsMuchOfALabelAsFits) {
  slot_side side;
  side.set_label("a label");
  EXPECT_STREQ(side.label.data(), "a label");
  side.set_label(std::string(100, 'x'));
  EXPECT_EQ(std::string{side.label.data()}, std::string(side.label.size() - 1, 'x'));
  side.set_label("");
  EXPECT_STREQ(side.label.data(), "");
}

// requirement: a slot that was ever taken, in whatever way, is below `touched`
TEST(SlotPool, TouchedCountsEverySlot) {
  slot_pool pool{1, 70};
  EXPECT_EQ(pool.touched(), 0u);
  slot_address taken = pool.take_any();
  EXPECT_LT(taken & 0xffff, pool.touched());
  cursor mine;
  for (int i = 1; i < 70; ++i) {
    taken = pool.take(mine);
    EXPECT_LT(taken & 0xffff, pool.touched());
  }
  EXPECT_EQ(pool.touched(), 70u);
}

// stress: no slot is given to two threads at the same time
TEST(SlotPool, NeverGivesASlotToTwo) {
  constexpr std::size_t window = 64;
  constexpr int threads = 4;
  slot_pool pool{1, window};
  std::vector<int> owners(window);  // not atomic: only the owner of a slot accesses its entry
  std::atomic<int> clashes{0};
  std::vector<std::thread> all;
  for (int me = 1; me <= threads; ++me) {
    all.emplace_back([&, me] {
      std::vector<slot_address> mine;
      cursor block;
      for (int i = 0; i < 5000; ++i) {
        slot_address const got = mine.size() < 40   ? pool.take(block)
                                 : mine.size() < 50 ? pool.take_any()
                                                    : no_slot;
        if (got != no_slot) {
          int& owner = owners[got & 0xffff];
          if (owner != 0) { ++clashes; }
          owner = me;
          mine.push_back(got);
          if (i % 3 != 0) { continue; }
        }
        if (mine.empty()) { continue; }
        owners[mine.back() & 0xffff] = 0;
        pool.give_back(mine.back());
        mine.pop_back();
      }
      for (slot_address const each : mine) {
        owners[each & 0xffff] = 0;
        pool.give_back(each);
      }
      pool.release(block);
    });
  }
  for (std::thread& each : all) { each.join(); }
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(pool.used(), 0u);
  for (std::size_t i = 0; i < window; ++i) {
    EXPECT_NE(pool.take_any(), no_slot) << "a slot was lost";
  }
}

}  // namespace
}  // namespace flotilla::dispatch
