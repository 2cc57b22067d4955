// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/child_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <flotilla/error/error.hpp>

#include "support/child.hpp"

namespace flotilla::compiler {
namespace {

using clock = std::chrono::steady_clock;

child_result shell(std::string const& script, std::chrono::milliseconds limit) {
  return run_program({"/bin/sh", "-c", script}, clock::now() + limit);
}
child_result shell(std::string const& script) { return shell(script, std::chrono::minutes{1}); }

// requirement
TEST(ChildProcess, ReturnsStatusAndOutput) {
  child_result const good = shell("echo out; echo err >&2");
  EXPECT_TRUE(good.succeeded);
  EXPECT_EQ(good.output, "out\nerr\n");
  EXPECT_FALSE(shell("exit 3").succeeded);
  EXPECT_FALSE(shell("kill -9 $$").succeeded);
  // More output than a pipe holds.
  EXPECT_EQ(
      shell("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done").output.size(),
      220000u);
}

// requirement: the children of a compiler end too
TEST(ChildProcess, ATimeoutEndsTheWholeGroup) {
  auto const begin = clock::now();
  child_result const late = shell("sleep 100 & echo begun; wait", std::chrono::milliseconds{200});
  EXPECT_TRUE(late.was_timed_out);
  EXPECT_FALSE(late.succeeded);
  EXPECT_EQ(late.output, "begun\n");
  EXPECT_LT(clock::now() - begin, std::chrono::seconds{20});
}

// error guess
TEST(ChildProcess, AMissingProgramIsAnError) {
  EXPECT_THROW(static_cast<void>(run_program({"/no/such"}, clock::now())), error);
}

// requirement: variables that change where compilers search have no effect
TEST(ChildProcess, TheEnvironmentIsCleaned) {
  ::setenv("CPLUS_INCLUDE_PATH", "/x", 1);
  ::setenv("LANG", "de_DE", 1);
  ::setenv("FLOTILLA_TEST_KEPT", "yes", 1);
  EXPECT_EQ(shell("echo \"$CPLUS_INCLUDE_PATH,$LANG,$LC_ALL,$FLOTILLA_TEST_KEPT\"").output,
            ",,C,yes\n");
  ::unsetenv("CPLUS_INCLUDE_PATH");
  ::unsetenv("LANG");
  ::unsetenv("FLOTILLA_TEST_KEPT");
}

// requirement: the application may ignore SIGCHLD, and may block signals
TEST(ChildProcess, DoesNotDependOnTheSignalsOfTheApplication) {
  EXPECT_EQ(test::forked([] {
              ::signal(SIGCHLD, SIG_IGN);
              sigset_t all;
              ::sigfillset(&all);
              ::sigprocmask(SIG_BLOCK, &all, nullptr);
              child_result const done = shell("kill -TERM $$; echo not ended");
              return done.output.empty() ? 0 : 1;
            }),
            0);
}

// requirement: the child inherits no open files
TEST(ChildProcess, InheritsNoFiles) {
  EXPECT_EQ(shell("ls /proc/self/fd | grep -c '^[0-2]$'").output, "3\n");
  EXPECT_EQ(test::forked([] {
              if (::dup2(1, 77) != 77) { return 2; }  // stays open over exec
              return shell("test -e /proc/self/fd/77 && echo open").output.empty() ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace flotilla::compiler
