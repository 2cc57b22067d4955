// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The open tasks of a flow on one device.

#include "flows/placement/device_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace flotilla::test {
namespace {

task_id task(std::uint32_t slot) {
  task_id made{};
  made.slot = slot;
  made.generation = 1;
  return made;
}

// requirement: tasks that have ended do not count
TEST(DeviceQueue, ForgetsEndedTasks) {
  flows::device_queue queue;
  auto const none = [](task_id const&) { return false; };
  queue.add(task(0), 0, 100, none);
  queue.add(task(1), 0, 50, none);
  EXPECT_EQ(queue.ns(0, none), 150);
  EXPECT_EQ(queue.ns(0, [](task_id const& each) { return each.slot == 0; }), 50);
  EXPECT_EQ(queue.ns(0, [](task_id const&) { return true; }), 0);
  EXPECT_EQ(queue.size(), 0u);
}

// requirement: a task that does not end keeps neither the memory nor the time of later ones
TEST(DeviceQueue, ForgetsTasksBehindOneThatDoesNotEnd) {
  flows::device_queue queue;
  auto const all_but_first = [](task_id const& each) { return each.slot != 0; };
  for (std::uint32_t i = 0; i < 100'000; ++i) { queue.add(task(i), 0, 1, all_but_first); }
  EXPECT_LT(queue.size(), 5'000u);
  EXPECT_LT(queue.ns(0, all_but_first), 5'000);
}

// requirement: less urgent tasks do not count, and the time of all tasks is known
TEST(DeviceQueue, CountsTasksThatAreAsUrgent) {
  flows::device_queue queue;
  auto const none = [](task_id const&) { return false; };
  queue.add(task(0), 0, 100, none);
  queue.add(task(1), 2, 50, none);
  queue.add(task(2), 1, 30, none);
  EXPECT_EQ(queue.ns(0, none), 180);
  EXPECT_EQ(queue.ns(1, none), 80);
  EXPECT_EQ(queue.ns(2, none), 50);
  EXPECT_EQ(queue.ns(3, none), 0);
  EXPECT_EQ(queue.ns(0, [](task_id const& each) { return each.slot == 0; }), 80);
  EXPECT_EQ(queue.all_ns(), 180);
  EXPECT_EQ(queue.ended_ns(), 100);
}

}  // namespace
}  // namespace flotilla::test
