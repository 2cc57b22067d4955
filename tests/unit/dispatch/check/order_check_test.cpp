// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The error text of the order check, and calls of several threads.

#include "dispatch/check/order_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {
namespace {

using ::testing::HasSubstr;

checked_task task_at(std::uintptr_t address, std::string text = {}, std::string label = {}) {
  return {std::move(text),
          std::move(label),
          {{.begin = address, .end = address + 16, .reads = true, .writes = true, .memory = 1}}};
}

std::string conflict(order_check& check, task_name name, checked_task task) {
  try {
    check.add(name, {}, {}, std::move(task));
  } catch (missing_dependency const& found) { return found.what(); }
  return "";
}

TEST(OrderCheck, ReportNamesBothTasksAndTheMemory) {
  order_check check;
  EXPECT_EQ(conflict(check, {1, 1}, task_at(0x100, "kernel 'a', label 'x'", "x")), "");
  EXPECT_EQ(conflict(check, {2, 1}, task_at(0x108, "a fill on device 0")),
            "two tasks use the same memory, but have no order: the earlier task (kernel 'a', label "
            "'x') reads and writes 16 bytes at address 0x100, and the later task (a fill on device "
            "0) reads and writes 16 bytes at address 0x108; add the ticket of task 'x' to the "
            "'after' of the later task, or wait for task 'x' before you submit the later task");
}

TEST(OrderCheck, FreedMemoryIsForgotten) {
  order_check check;
  EXPECT_EQ(conflict(check, {1, 1}, task_at(0x100)), "");
  check.freed(0x100, 16);
  EXPECT_EQ(conflict(check, {2, 1}, task_at(0x100)), "");
}

// stress: each thread uses its own memory, so only its own tasks can have conflicts
TEST(OrderCheck, ThreadsMayCallEveryFunctionAtTheSameTime) {
  order_check check;
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&check, thread] {
      std::uintptr_t const mine = 0x1000 * (thread + 1);
      for (std::uint64_t i = 1; i < 1000; ++i) {
        task_name const name{thread, i};
        EXPECT_EQ(conflict(check, name, task_at(mine)), "");
        EXPECT_THAT(conflict(check, {thread + 4, i}, task_at(mine + 8)), HasSubstr("16 bytes"));
        switch (i % 3) {
          case 0: check.observed(name); break;
          case 1: check.withdraw(name); break;
          default: check.freed(mine, 16);
        }
      }
    });
  }
  for (int i = 0; i < 1000; ++i) { EXPECT_GE(check.next(), 1u); }
}

}  // namespace
}  // namespace flotilla::dispatch
