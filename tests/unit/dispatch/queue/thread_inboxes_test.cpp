// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The inboxes of a thread: how they are found, and how they are removed after the thread has ended.

#include "dispatch/queue/thread_inboxes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

namespace flotilla::dispatch {
namespace {

/// Returns a runtime number that no other test uses.
std::uint64_t new_runtime() {
  static std::atomic<std::uint64_t> last{1'000'000};
  return ++last;
}

// requirement
TEST(ThreadInboxes, AreOnePerThreadAndPlace) {
  inbox_registry here, there;
  std::uint64_t const runtime = new_runtime();
  inbox& mine = thread_inboxes::get(runtime, 0, 2, here, 8);
  EXPECT_EQ(&thread_inboxes::get(runtime, 0, 2, here, 8), &mine);
  EXPECT_NE(&thread_inboxes::get(runtime, 1, 2, there, 8), &mine);
  EXPECT_NE(&thread_inboxes::get(new_runtime(), 0, 2, here, 8), &mine);
  std::thread{[&] { EXPECT_NE(&thread_inboxes::get(runtime, 0, 2, here, 8), &mine); }}.join();
  inbox_registry::view seen;
  here.refresh(seen);
  EXPECT_EQ(seen.boxes.size(), 3u);
}

// requirement: for each priority level that it uses, a thread has one inbox
TEST(ThreadInboxes, AreOnePerLevel) {
  inbox_registry here;
  std::uint64_t const runtime = new_runtime();
  // The inbox of the higher priority level is opened first.
  inbox& urgent = thread_inboxes::get(runtime, 1, 2, here, 8, 2);
  inbox& mine = thread_inboxes::get(runtime, 1, 2, here, 8);
  EXPECT_EQ(urgent.level(), 2);
  EXPECT_EQ(mine.level(), 0);
  EXPECT_EQ(&thread_inboxes::get(runtime, 1, 2, here, 8, 2), &urgent);
  EXPECT_EQ(&thread_inboxes::get(runtime, 1, 2, here, 8), &mine);
  EXPECT_NE(&thread_inboxes::get(runtime, 1, 2, here, 8, 5), &urgent);
  inbox_registry::view seen;
  here.refresh(seen);
  EXPECT_EQ(seen.boxes.size(), 3u);
}

// requirement: `get` looks first in a cache of the inboxes that were used last. The inbox that it
// returns always has the requested place (device or shared queue), priority level and runtime.
TEST(ThreadInboxes, AreFoundInTurns) {
  constexpr unsigned places = 3, runtimes = 3;
  std::vector<inbox_registry> registries(places * runtimes);
  std::vector<std::uint64_t> numbers;
  for (unsigned i = 0; i < runtimes; ++i) { numbers.push_back(new_runtime()); }
  auto const at = [&](unsigned runtime, unsigned place, priority_level level) {
    return &thread_inboxes::get(numbers[runtime], place, places,
                                registries[runtime * places + place], 8, level);
  };
  std::vector<inbox*> first;
  auto const each = [&](auto&& use) {
    for (priority_level level = 0; level < priority_levels; ++level) {
      for (unsigned place = 0; place < places; ++place) {
        for (unsigned runtime = 0; runtime < runtimes; ++runtime) {
          use(at(runtime, place, level), level);
        }
      }
    }
  };
  each([&](inbox* box, priority_level level) {
    EXPECT_EQ(box->level(), level);
    EXPECT_EQ(std::count(first.begin(), first.end(), box), 0);
    first.push_back(box);
  });
  std::size_t i = 0;
  each([&](inbox* box, priority_level) { EXPECT_EQ(box, first[i++]); });
}

// regression: after the creation of an inbox had failed, the thread had a dangling pointer to its
// other inboxes
TEST(ThreadInboxes, AreFoundAfterOneCouldNotBeMade) {
  inbox_registry here;
  std::uint64_t const runtime = new_runtime();
  inbox& mine = thread_inboxes::get(runtime, 0, 1, here, 8);
  constexpr std::size_t too_many = std::size_t{1} << 62;
  EXPECT_THROW((void)thread_inboxes::get(runtime, 0, 1, here, too_many, 5), std::bad_alloc);
  EXPECT_EQ(&thread_inboxes::get(runtime, 0, 1, here, 8), &mine);
  EXPECT_EQ(thread_inboxes::get(runtime, 0, 1, here, 8, 5).level(), 5);
}

// requirement: after a thread has ended, the tasks that it pushed can still be taken. Then its
// inbox is removed.
TEST(ThreadInboxes, AreOrphanedWhenTheirThreadEnds) {
  slot_pool pool{0, 64};
  inbox_registry registry;
  std::uint64_t const runtime = new_runtime();
  std::thread{[&] { thread_inboxes::get(runtime, 0, 1, registry, 8).push(42); }}.join();
  inbox_registry::view seen;
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 1u);
  EXPECT_TRUE(seen.boxes[0]->orphaned());
  slot_address got = 0;
  EXPECT_EQ(seen.boxes[0]->pop(&got, 1), 1u);
  EXPECT_EQ(got, 42u);
  registry.sweep(pool);
  registry.refresh(seen);
  EXPECT_TRUE(seen.boxes.empty());
}

// requirement: a thread that outlives a runtime frees its inboxes of this runtime
TEST(ThreadInboxes, ForgetRuntimesThatHaveEnded) {
  std::thread{[] {
    std::weak_ptr<inbox> last;
    for (int i = 0; i < 100; ++i) {
      inbox_registry registry;
      std::uint64_t const runtime = new_runtime();
      thread_inboxes::get(runtime, 0, 1, registry, 8).push(1);
      EXPECT_TRUE(last.expired()) << "an inbox of an ended runtime was not freed";
      inbox_registry::view seen;
      registry.refresh(seen);
      last = seen.boxes[0];
    }
  }}.join();
}

// stress: threads begin and end while another thread takes their tasks. No task may be lost.
TEST(ThreadInboxes, LoseNothingWhileThreadsComeAndGo) {
  constexpr int threads = 60;
  constexpr slot_address each_pushes = 50;
  slot_pool pool{0, 64};
  inbox_registry registry;
  std::uint64_t const runtime = new_runtime();
  std::atomic<int> ended{0};
  std::uint64_t sum = 0;
  std::size_t count = 0;
  std::thread consumer{[&] {
    inbox_registry::view seen;
    slot_address got[16];
    for (bool last = false; !last;) {
      last = ended == threads;  // if true, all tasks were pushed before this round
      registry.refresh(seen);
      for (auto const& box : seen.boxes) {
        while (std::size_t const popped = box->pop(got, std::size(got))) {
          count += popped;
          sum = std::accumulate(got, got + popped, sum);
        }
      }
      registry.sweep(pool);
      std::this_thread::yield();
    }
    registry.refresh(seen);
    EXPECT_TRUE(seen.boxes.empty()) << "empty inboxes of ended threads must be removed";
  }};
  for (int i = 0; i < threads; i += 3) {
    std::thread few[3];
    for (std::thread& each : few) {
      each = std::thread{[&] {
        for (slot_address k = 1; k <= each_pushes; ++k) {
          thread_inboxes::get(runtime, 0, 1, registry, 64).push(k);
        }
      }};
    }
    for (std::thread& each : few) { each.join(), ++ended; }
  }
  consumer.join();
  EXPECT_EQ(count, threads * each_pushes);
  EXPECT_EQ(sum, std::uint64_t{threads} * each_pushes * (each_pushes + 1) / 2);
}

}  // namespace
}  // namespace flotilla::dispatch
