// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/fork_guard.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flotilla::base {
namespace {

// requirement
TEST(ForkGuard, CountsTheForksBetweenAProcessAndItsAncestor) {
  std::uint32_t const here = fork_generation();
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (fork_generation() != here + 1) { _exit(1); }
    pid_t const grandchild = fork();
    if (grandchild == 0) { _exit(fork_generation() == here + 2 ? 0 : 2); }
    int status = 0;
    waitpid(grandchild, &status, 0);
    _exit(fork_generation() == here + 1 ? WEXITSTATUS(status) : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(fork_generation(), here) << "forking does not make the parent a child";
}

}  // namespace
}  // namespace flotilla::base
