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
constexpr unsigned child_seconds =
    sanitized ? 100 : 50;  // a hang must end before CTest's own limit
}

void run_and_exit(std::function<void()> const& body) {
  alarm(child_seconds);
  try {
    body();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "the child threw: %s\n", error.what());
    std::exit(2);
  }
  // GoogleTest prints nothing of its own in such a child; the parent shows what is on stderr.
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

int forked(std::function<int()> const& body) {
  std::fflush(nullptr);
  pid_t const child = fork();
  if (child < 0) { throw std::runtime_error{"fork failed"}; }
  if (child == 0) {
    alarm(child_seconds);
    int code = 99;
    try {
      code = body();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "the child threw: %s\n", error.what());
    }
    _exit(code);  // the parent's atexit handlers are not this process's to run
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) { throw std::runtime_error{"waitpid failed"}; }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

}  // namespace flotilla::test
