// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/ring_deque.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla::base {
namespace {

// requirement: the order of the elements stays correct while elements are added at both ends and
// the queue grows
TEST(RingDeque, KeepsItsOrder) {
  ring_deque<int> queue;
  int next = 0, expected = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 50; ++i) { queue.push_back(next++); }
    for (int i = 0; i < 20; ++i) { ASSERT_EQ(queue.take_front(), expected++); }
  }
  EXPECT_EQ(queue.size(), 300u);
  queue.push_front(-1);
  EXPECT_EQ(queue.take_front(), -1);
  EXPECT_EQ(std::vector<int>(queue.begin(), queue.end()).front(), expected);
  EXPECT_EQ(std::vector<int>(queue.begin(), queue.end()).back(), next - 1);
  queue.clear();
  EXPECT_TRUE(queue.empty());
}

// error guess: a push to the front of an empty queue, and a push to the front that needs more
// capacity
TEST(RingDeque, GrowsInFrontAsWell) {
  ring_deque<int> queue;
  for (int i = 0; i < 1000; ++i) { queue.push_front(i); }
  for (int i = 999; i >= 0; --i) { ASSERT_EQ(queue.take_front(), i); }
}

}  // namespace
}  // namespace flotilla::base
