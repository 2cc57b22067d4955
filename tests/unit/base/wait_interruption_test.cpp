// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

#include <flotilla/detail/wait_interruption.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <flotilla/error/error.hpp>

namespace flotilla::test {
namespace {

using detail::interruptible_waits;

/// Counts the questions, and answers them.
struct answers {
  int questions = 0;
  bool must_end = false;
  static bool ask(void* self) noexcept {
    auto& mine = *static_cast<answers*>(self);
    ++mine.questions;
    return mine.must_end;
  }
};

/// As a wait does, until there was another question.
void check_until_asked(answers const& by) {
  for (int const before = by.questions; by.questions == before;) {
    interruptible_waits::check();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

// requirement
TEST(WaitInterruption, IsOffByDefault) {
  EXPECT_FALSE(interruptible_waits::are_on());
  EXPECT_NO_THROW(interruptible_waits::check());
}

// requirement: a wait asks again and again, and ends if the answer is yes
TEST(WaitInterruption, EndsAWait) {
  answers by;
  interruptible_waits const on{&answers::ask, &by};
  EXPECT_TRUE(interruptible_waits::are_on());
  interruptible_waits::check();
  EXPECT_EQ(by.questions, 0) << "a short wait does not ask";
  check_until_asked(by);
  check_until_asked(by);
  by.must_end = true;
  EXPECT_THROW(check_until_asked(by), error);
  EXPECT_EQ(by.questions, 3);
}

// requirement: the innermost object counts, and each thread has its own
TEST(WaitInterruption, NestsInEachThread) {
  answers outer{.must_end = true}, inner;
  interruptible_waits const on{&answers::ask, &outer};
  {
    interruptible_waits const never{nullptr, nullptr};
    EXPECT_FALSE(interruptible_waits::are_on());
    interruptible_waits const again{&answers::ask, &inner};
    check_until_asked(inner);
  }
  std::thread{[] { EXPECT_FALSE(interruptible_waits::are_on()); }}.join();
  EXPECT_EQ(outer.questions, 0);
  EXPECT_THROW(check_until_asked(outer), error);
}

}  // namespace
}  // namespace flotilla::test
