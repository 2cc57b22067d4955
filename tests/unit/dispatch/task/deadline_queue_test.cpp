// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/deadline_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace flotilla::dispatch {
namespace {

deadline_entry entry_of(slot_address task, deadline_queue::clock::time_point when) {
  deadline_entry made;
  made.when = when;
  made.task = task;
  made.generation = 1;
  return made;
}

// requirement: a task that has ended does not count any more, even if its deadline has passed
TEST(DeadlineQueue, ForgetsARemovedTask) {
  auto const now = deadline_queue::clock::now();
  deadline_entry past = entry_of(1, now - std::chrono::hours{1});
  deadline_entry later = entry_of(2, now + std::chrono::hours{1});
  deadline_queue queue;
  EXPECT_FALSE(queue.any());
  queue.add(later);
  EXPECT_TRUE(queue.any());
  EXPECT_FALSE(queue.any_due());
  queue.add(past);
  EXPECT_TRUE(queue.any_due());
  queue.remove(past);
  EXPECT_FALSE(queue.any_due());
  EXPECT_TRUE(queue.any());
  queue.remove(later);
  EXPECT_FALSE(queue.any());
  queue.remove(later);  // does nothing
}

// requirement: the tasks whose deadlines have passed are taken in the order of their deadlines
TEST(DeadlineQueue, GivesTheDueTasks) {
  auto const now = deadline_queue::clock::now();
  deadline_entry last = entry_of(1, now);
  deadline_entry first = entry_of(2, now - std::chrono::hours{1});
  deadline_entry later = entry_of(3, now + std::chrono::hours{1});
  deadline_queue queue;
  for (deadline_entry* const each : {&last, &first, &later}) { queue.add(*each); }
  std::array<deadline_queue::due_task, 3> due{};
  ASSERT_EQ(queue.take_due(now, due), 2u);
  EXPECT_EQ(due[0].task, 2u);
  EXPECT_EQ(due[1].task, 1u);
  EXPECT_FALSE(queue.any_due());
  EXPECT_TRUE(queue.any());
  queue.remove(first);  // does nothing, because the task was taken
  queue.remove(later);
  EXPECT_FALSE(queue.any());
}

}  // namespace
}  // namespace flotilla::dispatch
