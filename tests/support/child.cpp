// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "support/scale.hpp"

namespace flotilla::test {

namespace {
// Shorter than CTest's timeout, so that the report of a hang names the child.
constexpr unsigned child_timeout_s = sanitized ? 100 : 50;
}  // namespace

void run_and_exit(std::function<void()> const& body) {
  alarm(child_timeout_s);
  try {
    body();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "the child threw: %s\n", error.what());
    std::exit(2);
  }
  // GoogleTest prints no failures in the child process of a death test. We print them to stderr,
  // which the parent shows.
  auto const& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    auto const& part = result.GetTestPartResult(i);
    if (!part.failed()) { continue; }
    std::fprintf(stderr, "%s:%d: in the child: %s\n",
                 part.file_name() != nullptr ? part.file_name() : "?", part.line_number(),
                 part.message());
  }
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

int forked(std::function<int()> const& body) { return result_of(start_forked(body)); }

pid_t start_forked(std::function<int()> const& body) {
  std::fflush(nullptr);
  pid_t const child = fork();
  if (child < 0) { throw std::runtime_error{"fork failed"}; }
  if (child == 0) {
    alarm(child_timeout_s);
    int code = 99;
    try {
      code = body();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "the child threw: %s\n", error.what());
    }
    _exit(code);  // skips the parent's atexit handlers
  }
  return child;
}

int result_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) { throw std::runtime_error{"waitpid failed"}; }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

}  // namespace flotilla::test
