#pragma once
// Tests in a process of their own: what poisons a driver, forks, or sets the environment.

#include <gtest/gtest.h>

#include <functional>

namespace flotilla::test {

/// Runs `body` in this process, which is a child made for it, and ends it as a process ends, with 0
/// if no expectation failed. A child that hangs is killed after a time.
[[noreturn]] void run_and_exit(std::function<void()> const& body);

/// Forks this process as it is, threads and all. @return the exit status of the child, which ran
/// `body` and ended with what it returned, without any clean-up.
[[nodiscard]] int forked(std::function<int()> const& body);

}  // namespace flotilla::test

/// A callable, run in a new process, started afresh, with every expectation in it.
#define FLOTILLA_EXPECT_IN_CHILD(...)                                                           \
  do {                                                                                          \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                                             \
    EXPECT_EXIT(::flotilla::test::run_and_exit(__VA_ARGS__), ::testing::ExitedWithCode(0), ""); \
  } while (false)
