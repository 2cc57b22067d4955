// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/progress_words.hpp"

#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class ProgressWords : public lane_test {
 protected:
  ~ProgressWords() override { words_.unregister(0); }
  progress_words words_{2};
};

// requirement: the words of a row are 0 when it is taken, even if it was used before
TEST_F(ProgressWords, AreZeroWhenTaken) {
  progress_words::row const first = words_.take(context_, 0);
  progress_words::raise(first.word(1), 7);
  progress_words::raise(first.word(1), 5);
  EXPECT_EQ(first.word(1), 7u) << "a word only grows";
  words_.give_back(first);
  progress_words::row const again = words_.take(context_, 0);
  EXPECT_EQ(again.host, first.host);
  EXPECT_EQ(again.word(0), 0u);
  EXPECT_EQ(again.word(1), 0u);
}

// requirement: on a poisoned runtime, no device waits for a word, not even in a row that is taken
// later
TEST_F(ProgressWords, StayRaisedOnAPoisonedRuntime) {
  constexpr std::uint64_t above_all = std::uint64_t{1} << 62;
  progress_words::row const before = words_.take(context_, 0);
  words_.raise_all();
  for (std::uint32_t device = 0; device < 2; ++device) {
    EXPECT_GE(before.word(device), above_all);
  }
  for (int i = 0; i < 1000; ++i) {  // more than fit into the memory that existed before
    progress_words::row const after = words_.take(context_, 0);
    for (std::uint32_t device = 0; device < 2; ++device) {
      ASSERT_GE(after.word(device), above_all) << "row " << i;
    }
  }
}

}  // namespace
}  // namespace flotilla::dispatch
