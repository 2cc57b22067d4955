// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The slot_side objects of a window are constructed at their first use.

#include "dispatch/task/slot_sides.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

namespace flotilla::dispatch {
namespace {

constexpr std::uintptr_t page_bytes = 4096;

bool is_resident(void const* address) {
  auto const page = reinterpret_cast<std::uintptr_t>(address) / page_bytes * page_bytes;
  unsigned char answer = 0;
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(page), page_bytes, &answer), 0);
  return (answer & 1) != 0;
}

// requirement: every object has its default values at its first use, also those of a block that is
// not full
TEST(SlotSides, ObjectsHaveTheirDefaultValues) {
  constexpr std::uint32_t window = 70;
  slot_sides sides{window};
  for (std::uint32_t i = window; i-- > 0;) {
    EXPECT_EQ(sides[i].status_offset, slot_side::no_status);
    EXPECT_EQ(sides[i].first_unstarted, 0);
    EXPECT_EQ(sides[i].arguments, nullptr);
    EXPECT_TRUE(sides[i].more_dependencies.empty());
    sides[i].first_unstarted = static_cast<std::uint16_t>(i + 1);
    sides[i].more_dependencies.push_back({});  // freed by the destructor, or leaks
  }
  for (std::uint32_t i = 0; i < window; ++i) { EXPECT_EQ(sides[i].first_unstarted, i + 1); }
}

// requirement: the objects of a used block are destroyed with the window. So a stop token no longer
// reaches tasks of a runtime that has ended
TEST(SlotSides, UsedObjectsAreDestroyed) {
  std::stop_source source;
  int calls = 0;
  auto const count = [](void* counted, slot_address, std::uint64_t) noexcept {
    ++*static_cast<int*>(counted);
  };
  {
    slot_sides sides{3 * 32};
    sides[40].watch = std::make_unique<task_watch>();
    sides[40].watch->stop.emplace(source.get_token(), stop_request{count, &calls, 40, 1});
  }
  source.request_stop();
  EXPECT_EQ(calls, 0);
}

// requirement: objects that nobody uses take no memory
TEST(SlotSides, UnusedObjectsTakeNoMemory) {
  slot_sides sides{65536};
  slot_side const* const first = &sides[0];
  EXPECT_TRUE(is_resident(first));
  EXPECT_FALSE(is_resident(first + 32768));
  static_cast<void>(sides[32768]);
  EXPECT_TRUE(is_resident(first + 32768));
}

// requirement: threads that use the objects of a block for the first time at once do not construct
// them twice
TEST(SlotSides, ThreadsShareABlock) {
  constexpr std::uint32_t threads = 4, blocks = 500;
  slot_sides sides{blocks * 32};
  std::vector<std::thread> running;
  for (std::uint32_t t = 0; t < threads; ++t) {
    running.emplace_back([&sides, t] {
      for (std::uint32_t i = 0; i < blocks; ++i) {
        sides[i * 32 + t].first_unstarted = static_cast<std::uint16_t>(i + t);
      }
    });
  }
  for (std::thread& each : running) { each.join(); }
  for (std::uint32_t i = 0; i < blocks; ++i) {
    for (std::uint32_t t = 0; t < threads; ++t) {
      EXPECT_EQ(sides[i * 32 + t].first_unstarted, i + t);
    }
  }
}

}  // namespace
}  // namespace flotilla::dispatch
