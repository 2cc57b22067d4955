// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The open tasks of a flow on one device.

#include "flows/device_queue.hpp"

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
  queue.add(task(0), 100, none);
  queue.add(task(1), 50, none);
  EXPECT_EQ(queue.ns(none), 150);
  EXPECT_EQ(queue.ns([](task_id const& each) { return each.slot == 0; }), 50);
  EXPECT_EQ(queue.ns([](task_id const&) { return true; }), 0);
  EXPECT_EQ(queue.size(), 0u);
}

// requirement: a task that does not end keeps neither the memory nor the time of later ones
TEST(DeviceQueue, ForgetsTasksBehindOneThatDoesNotEnd) {
  flows::device_queue queue;
  auto const all_but_first = [](task_id const& each) { return each.slot != 0; };
  for (std::uint32_t i = 0; i < 100'000; ++i) { queue.add(task(i), 1, all_but_first); }
  EXPECT_LT(queue.size(), 5'000u);
  EXPECT_LT(queue.ns(all_but_first), 5'000);
}

}  // namespace
}  // namespace flotilla::test
