#pragma once
// Tests that need a process of their own: they poison the driver, fork, or set the environment.

#include <gtest/gtest.h>

#include <functional>

namespace flotilla::test {

/// Runs `body` in this process, a child created for it, and exits normally: with 0 if no
/// expectation failed. An alarm kills a child that hangs.
[[noreturn]] void run_and_exit(std::function<void()> const& body);

/// Forks this process. The child runs `body` and exits with its result, without any clean-up.
/// @return the child's exit status; 256 and the number of the signal if a signal ended it.
[[nodiscard]] int forked(std::function<int()> const& body);

}  // namespace flotilla::test

/// Runs a callable in a new process. Failed expectations in it fail the test.
#define FLOTILLA_EXPECT_IN_CHILD(...)                                                           \
  do {                                                                                          \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                                             \
    EXPECT_EXIT(::flotilla::test::run_and_exit(__VA_ARGS__), ::testing::ExitedWithCode(0), ""); \
  } while (false)
