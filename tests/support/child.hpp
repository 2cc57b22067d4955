// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs tests in a child process. A test needs a child process if the test poisons the driver,
// forks, or sets environment variables.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>

namespace flotilla::test {

/// Runs `body` in this process, which must be a child process, and calls `exit`. The exit status is
/// 0 if no expectation failed. An alarm kills the process if `body` hangs.
[[noreturn]] void run_and_exit(std::function<void()> const& body);

/// Forks this process. The child runs `body` and passes the result of `body` to `_exit`.
/// @return the child's exit status, or 256 plus the signal number if a signal killed the child.
[[nodiscard]] int forked(std::function<int()> const& body);
/// The same in two steps, for several children at the same time. One thread must start all of them:
/// a child of fork() has the locks that other threads hold at this moment.
[[nodiscard]] pid_t start_forked(std::function<int()> const& body);
[[nodiscard]] int result_of(pid_t child);

}  // namespace flotilla::test

/// Runs a callable in a new process. The test fails if an expectation fails in that process.
#define FLOTILLA_EXPECT_IN_CHILD(...)                                                           \
  do {                                                                                          \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                                             \
    EXPECT_EXIT(::flotilla::test::run_and_exit(__VA_ARGS__), ::testing::ExitedWithCode(0), ""); \
  } while (false)
