// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which ranks have the contents of data, and who sends them.

#include "flows/data/rank_copies.hpp"

#include <gtest/gtest.h>

#include <map>

namespace flotilla::test {
namespace {

// requirement: each rank sends a version to at most four others, and only after it has got it
TEST(RankCopies, CopiesToManyRanksAreATree) {
  flows::rank_copies copies{3, 0};
  std::map<int, int> sent;
  for (int rank = 0; rank < 1000; ++rank) {
    if (copies.has(rank)) { continue; }
    int const from = copies.source_for_next();
    EXPECT_TRUE(copies.has(from)) << rank;
    EXPECT_LE(++sent[from], 4) << from;
    copies.add(rank);
    EXPECT_TRUE(copies.has(rank));
  }
  EXPECT_EQ(sent[3], 4);
}

// requirement: after a change only the owner, and the rank of the task, have the contents
TEST(RankCopies, AChangeLeavesTheOwnerAndTheRankOfTheTask) {
  flows::rank_copies copies{3, 0};
  for (int rank = 10; rank < 100; ++rank) { copies.add(rank); }
  copies.change(50);
  EXPECT_EQ(copies.version(), 1u);
  for (int rank = 0; rank < 100; ++rank) { EXPECT_EQ(copies.has(rank), rank == 3 || rank == 50); }
  copies.set_owner(50);
  EXPECT_EQ(copies.owner(), 50);
  copies.change(50);
  for (int rank = 0; rank < 100; ++rank) { EXPECT_EQ(copies.has(rank), rank == 50); }
}

}  // namespace
}  // namespace flotilla::test
