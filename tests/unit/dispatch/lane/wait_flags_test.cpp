// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/wait_flags.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>

namespace flotilla::dispatch {
namespace {

// requirement: a flag is raised to the number of its task. When the runtime is poisoned, all words
// are above the numbers of all tasks, and stay so
TEST(WaitFlags, AreRaisedForOneTaskOrForAll) {
  std::array<std::uint64_t, 2> words{};
  wait_flags flags;
  flags.add(words.data(), words.size());
  std::optional<wait_flags::flag> const first = flags.take();
  std::optional<wait_flags::flag> const second = flags.take();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(flags.take());
  flags.raise(*first);
  EXPECT_EQ(*first->word, first->number);
  EXPECT_LT(*second->word, second->number);
  flags.raise_all();
  flags.raise(*second);
  for (std::uint64_t const each : words) { EXPECT_GT(each, 1'000'000u); }
}

// requirement: nothing writes the words after they were forgotten, because their memory is freed
TEST(WaitFlags, AreNotRaisedOnceForgotten) {
  std::array<std::uint64_t, 2> words{};
  wait_flags flags;
  flags.add(words.data(), words.size());
  flags.forget();
  flags.raise_all();
  for (std::uint64_t const each : words) { EXPECT_EQ(each, 0u); }
}

}  // namespace
}  // namespace flotilla::dispatch
