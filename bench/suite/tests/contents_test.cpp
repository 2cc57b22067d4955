// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tests the checks of results. A row whose check finds no error would measure work that was not
// done.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "host_words.hpp"
#include "mixed_tasks.hpp"

namespace flotilla::bench {
namespace {

using ::testing::HasSubstr;

template <class Call>
std::string error_of(Call const& call) {
  try {
    call();
  } catch (std::runtime_error const& error) { return error.what(); }
  return "no error";
}

TEST(BenchWords, AWrongOrMisplacedWordIsFound) {
  std::vector<unsigned long long> words(100);
  write_words(words, 3);
  check_words(words, 3, "copy");
  EXPECT_EQ(error_of([&] { check_words(words, 4, "copy"); }), "copy: 100 words are wrong");
  ++words[99];
  EXPECT_EQ(error_of([&] { check_words(words, 3, "copy"); }), "copy: 1 words are wrong");
  --words[99];
  std::swap(words[10], words[20]);
  EXPECT_EQ(error_of([&] { check_words(words, 3, "copy"); }), "copy: 2 words are wrong");
}

TEST(BenchMixedTasks, KernelsTakeTurnsAndGridsHaveOneTo64Blocks) {
  mixed_tasks const tasks{4096};
  std::set<unsigned> sizes;
  for (std::size_t i = 0; i < tasks.count(); ++i) {
    EXPECT_EQ(mixed_tasks::kernel(i), i % 8);
    sizes.insert(tasks.blocks(i));
  }
  EXPECT_EQ(*sizes.begin(), 1u);
  EXPECT_EQ(*sizes.rbegin(), 64u);
  EXPECT_EQ(sizes.size(), 64u);
}

TEST(BenchMixedTasks, AWrongWordIsFound) {
  // Task 0 adds the index of the block to its value, which is 0.
  mixed_tasks const tasks{1};
  std::vector<unsigned> words(tasks.words());
  for (unsigned i = 0; i < words.size(); ++i) { words[i] = i; }
  tasks.check(words, "flood");
  ++words[tasks.blocks(0) - 1];
  EXPECT_THAT(error_of([&] { tasks.check(words, "flood"); }),
              HasSubstr("flood: task 0 (mixed_add) wrote a wrong value in block"));
}

}  // namespace
}  // namespace flotilla::bench
