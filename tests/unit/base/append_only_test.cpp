// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/append_only.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace flotilla::base {
namespace {

using small_list = append_only<std::string, 4, 2>;

// requirement
TEST(AppendOnly, ReturnsAddedEntries) {
  small_list list;
  EXPECT_EQ(list.size(), 0u);
  for (char const* const word : {"one", "two", "three", "four", "five"}) {
    std::size_t const before = list.size();
    EXPECT_EQ(list.add([&](std::string& entry) { entry = word; }), before);
    EXPECT_EQ(list[before], word);
  }
  EXPECT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0], "one");
}

// requirement
TEST(AppendOnly, NeverMovesAnEntry) {
  small_list list;
  list.add([](std::string& entry) { entry = "first"; });
  std::string const* const where = &list[0];
  for (int i = 0; i < 7; ++i) {
    list.add([](std::string&) {});
  }
  EXPECT_EQ(&list[0], where);
}

// requirement
TEST(AppendOnly, RefusesMoreThanItHolds) {
  small_list list;
  for (int i = 0; i < 8; ++i) {
    list.add([](std::string&) {});
  }
  EXPECT_THROW(list.add([](std::string&) {}), std::length_error);
  EXPECT_EQ(list.size(), 8u);
}

// error guess: if the callback `fill` throws, `add` must not add the entry
TEST(AppendOnly, AnEntryWhoseFillingThrowsIsNotAdded) {
  small_list list;
  EXPECT_THROW(list.add([](std::string&) { throw 1; }), int);
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.add([](std::string& entry) { entry = "good"; }), 0u);
  EXPECT_EQ(list[0], "good");
}

// stress: while writers add entries, readers must see only complete entries
TEST(AppendOnly, IsReadWhileItGrows) {
  struct pair {
    std::size_t a = 0, b = 0;
  };
  constexpr std::size_t entries = 2000;
  append_only<pair, 16, 256> list;
  std::atomic<std::size_t> torn{0};
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      for (std::size_t seen = 0; seen < 2 * entries;) {
        seen = list.size();
        for (std::size_t i = 0; i < seen; ++i) {
          if (list[i].a == 0 || list[i].a != list[i].b) { ++torn; }
        }
        std::this_thread::yield();
      }
    });
  }
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < entries; ++i) {
        list.add([&](pair& entry) { entry.a = entry.b = i + 1; });
      }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(list.size(), 2 * entries);
}

}  // namespace
}  // namespace flotilla::base
