// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which tasks use which memory: conflicts, and which accesses are forgotten.

#include "dispatch/check/access_map.hpp"

#include <gtest/gtest.h>

#include <set>

namespace flotilla::dispatch {
namespace {

class AccessMap : public ::testing::Test {
 protected:
  static memory_access read(std::uintptr_t begin, std::uintptr_t end, std::uint64_t memory = 1) {
    return {.begin = begin, .end = end, .reads = true, .memory = memory};
  }
  static memory_access write(std::uintptr_t begin, std::uintptr_t end, std::uint64_t memory = 1) {
    return {.begin = begin, .end = end, .writes = true, .memory = memory};
  }
  void add(task_number task, memory_access const& access, std::set<task_number> const& before) {
    map_.add(task, access, [&](task_number each) { return before.contains(each); });
  }
  std::optional<task_number> conflict(memory_access const& access,
                                      std::set<task_number> const& before = {}) const {
    return map_.conflict(access, [&](task_number each) { return before.contains(each); });
  }
  access_map map_;
};

TEST_F(AccessMap, OnlyOverlappingRangesAreConflicts) {
  add(1, write(100, 200), {});
  EXPECT_EQ(conflict(read(0, 100)), std::nullopt);
  EXPECT_EQ(conflict(read(200, 300)), std::nullopt);
  EXPECT_EQ(conflict(read(199, 200)), 1u);
  EXPECT_EQ(conflict(read(0, 101)), 1u);
  EXPECT_EQ(conflict(write(0, 1000)), 1u);
  EXPECT_EQ(conflict(write(0, 1000), {1}), std::nullopt);
}

TEST_F(AccessMap, ReadsAreNoConflict) {
  add(1, read(0, 10), {});
  EXPECT_EQ(conflict(read(0, 10)), std::nullopt);
  EXPECT_EQ(conflict(write(5, 6)), 1u);
}

TEST_F(AccessMap, OtherMemoryAtTheSameAddressIsNoConflict) {
  add(1, write(0, 10, 1), {});
  EXPECT_EQ(conflict(write(0, 10, 2)), std::nullopt);
  add(2, write(5, 10, 2), {});
  EXPECT_EQ(conflict(write(0, 5, 1)), 1u);
  EXPECT_EQ(conflict(write(5, 10, 1)), std::nullopt) << "the old memory is gone there";
}

TEST_F(AccessMap, NewestConflictIsFound) {
  add(1, read(0, 10), {});
  add(2, read(5, 15), {});
  add(3, read(20, 30), {});
  EXPECT_EQ(conflict(write(0, 30)), 3u);
  EXPECT_EQ(conflict(write(0, 30), {3}), 2u);
  EXPECT_EQ(conflict(write(0, 30), {2, 3}), 1u);
  std::vector<task_number> rivals;
  map_.find_rivals(write(12, 30), rivals);
  map_.find_rivals(read(0, 30), rivals);
  EXPECT_EQ(rivals, (std::vector<task_number>{2, 3})) << "two reads are no rivals";
}

TEST_F(AccessMap, OrderedWriteMakesOlderAccessesRedundant) {
  add(1, write(0, 10), {});
  add(2, read(0, 10), {1});
  add(3, write(0, 10), {1, 2});
  EXPECT_FALSE(map_.holds(1));
  EXPECT_FALSE(map_.holds(2));
  EXPECT_EQ(conflict(read(0, 10)), 3u);
}

TEST_F(AccessMap, WriteToAPartKeepsTheRest) {
  add(1, write(0, 10), {});
  add(2, write(3, 6), {1});
  EXPECT_TRUE(map_.holds(1));
  EXPECT_EQ(conflict(read(0, 3)), 1u);
  EXPECT_EQ(conflict(read(3, 6)), 2u);
  EXPECT_EQ(conflict(read(6, 10)), 1u);
}

TEST_F(AccessMap, OrderedReadMakesOlderReadsRedundantButNoWrite) {
  add(1, write(0, 10), {});
  add(2, read(0, 10), {1});
  add(3, read(0, 10), {1, 2});
  EXPECT_TRUE(map_.holds(1));
  EXPECT_FALSE(map_.holds(2));
  EXPECT_EQ(conflict(read(0, 10)), 1u);
}

TEST_F(AccessMap, TaskMayUseTheSameMemoryTwice) {
  add(1, read(0, 10), {});
  add(1, write(5, 15), {});
  add(1, read(0, 15), {});
  EXPECT_EQ(conflict(read(0, 5)), std::nullopt);
  EXPECT_EQ(conflict(read(5, 15)), 1u);
  map_.remove(1, read(0, 10));
  map_.remove(1, write(5, 15));
  EXPECT_FALSE(map_.holds(1));
  EXPECT_EQ(map_.segments(), 0u);
}

TEST_F(AccessMap, EqualNeighboursAreJoined) {
  for (std::uintptr_t i = 0; i < 100; ++i) { add(i + 1, write(i, i + 1), {}); }
  EXPECT_EQ(map_.segments(), 100u);
  std::set<task_number> all;
  for (task_number i = 1; i <= 100; ++i) { all.insert(i); }
  add(101, write(0, 100), all);
  EXPECT_EQ(map_.segments(), 1u);
  add(102, write(40, 60), {101});
  EXPECT_EQ(map_.segments(), 3u);
  map_.remove(102, write(40, 60));
  EXPECT_EQ(map_.segments(), 2u);
}

TEST_F(AccessMap, FreedMemoryIsForgotten) {
  add(1, write(0, 30), {});
  map_.remove_all(10, 20);
  EXPECT_EQ(conflict(write(10, 20)), std::nullopt);
  EXPECT_EQ(conflict(write(9, 10)), 1u);
  EXPECT_EQ(conflict(write(20, 21)), 1u);
  map_.remove_all(0, 100);
  EXPECT_FALSE(map_.holds(1));
  EXPECT_EQ(map_.segments(), 0u);
}

}  // namespace
}  // namespace flotilla::dispatch
