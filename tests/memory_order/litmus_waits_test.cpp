// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Threads that wait for each other, in the explorer.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "memory_order/explorer.hpp"

namespace flotilla::test::memory_order {
namespace {

struct words {
  std::atomic<int> x{0};
  int plain = 0;
};

// A thread that waits in a loop sees the change at last, and what happened before it.
TEST(LitmusWaits, Loops) {
  auto const run = [](std::memory_order how, int last) {
    return explore([=](execution& one) {
             auto const all = std::make_shared<words>();
             one.thread([all, how, last] {
               all->plain = 1;
               for (int i = 1; i <= last; ++i) { all->x.store(i, how); }
             });
             one.thread([all] {
               while (all->x.load(std::memory_order_acquire) != 2) { std::this_thread::yield(); }
               all->plain = 2;
             });
           })
        .wrong;
  };
  EXPECT_EQ(run(std::memory_order_release, 2), "");
  EXPECT_EQ(run(std::memory_order_relaxed, 2), "data race");
  EXPECT_EQ(run(std::memory_order_release, 1), "the execution is too long");
}

struct waiting {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
};

TEST(LitmusWaits, Mutexes) {
  auto const run = [](bool locks) {
    return explore([locks](execution& one) {
             auto const all = std::make_shared<waiting>();
             one.thread([all] {
               std::unique_lock lock{all->mutex};
               all->changed.wait(lock, [&] { return all->ready; });
             });
             one.thread([all, locks] {
               std::unique_lock lock{all->mutex, std::defer_lock};
               if (locks) { lock.lock(); }
               all->ready = true;
               all->changed.notify_one();
             });
           })
        .wrong;
  };
  EXPECT_EQ(run(true), "");
  EXPECT_NE(run(false), "");
}

}  // namespace
}  // namespace flotilla::test::memory_order
