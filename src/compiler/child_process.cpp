// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <flotilla/detail/wait_interruption.hpp>
#include <flotilla/error/error.hpp>

#include "compiler/file_io.hpp"
#include "compiler/privileges.hpp"

namespace flotilla::compiler {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 6> left_out{
    "CPATH=", "C_INCLUDE_PATH=", "CPLUS_INCLUDE_PATH=", "LANG=", "LC_ALL=", "LC_MESSAGES="};

std::vector<std::string> environment_of_child() {
  std::vector<std::string> made{"LC_ALL=C"};
  if (has_raised_privileges()) {
    made.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
    return made;
  }
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    std::string_view const entry = *each;
    bool const skipped = std::any_of(left_out.begin(), left_out.end(), [&](std::string_view name) {
      return entry.starts_with(name);
    });
    if (!skipped) { made.emplace_back(entry); }
  }
  return made;
}

std::vector<char*> pointers_to(std::vector<std::string> const& texts) {
  std::vector<char*> made;
  for (std::string const& text : texts) { made.push_back(const_cast<char*>(text.c_str())); }
  made.push_back(nullptr);
  return made;
}

/// The attributes and file actions of a child.
class spawn_plan {
 public:
  explicit spawn_plan(int output) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
#endif
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    // The application may block or ignore signals; a compiler expects neither.
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
  }
  spawn_plan(spawn_plan const&) = delete;
  spawn_plan& operator=(spawn_plan const&) = delete;
  ~spawn_plan() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

/// Reads what the child writes until nobody can write any more. @return false at the deadline
/// @throws error  The wait was interrupted.
bool read_until(int from, clock::time_point deadline, std::string& output) {
  using waits = flotilla::detail::interruptible_waits;
  long long const longest = waits::are_on() ? 50 : 1'000'000;  // milliseconds
  std::array<char, 16384> part;
  for (;;) {
    waits::check();
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    if (left <= 0) { return false; }
    pollfd wanted{from, POLLIN, 0};
    int const ready = ::poll(&wanted, 1, static_cast<int>(std::min<long long>(left, longest)));
    if (ready <= 0) { continue; }  // a signal, or the time is over
    ssize_t const count = ::read(from, part.data(), part.size());
    if (count < 0 && errno == EINTR) { continue; }
    if (count <= 0) { return true; }
    output.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// @return whether the child ended with status 0. If the application ignores SIGCHLD or has waited
///         for all children, the status is lost: then the caller's check of the files decides.
bool wait_for(pid_t child) {
  int status = 0;
  for (;;) {
    pid_t const ended = ::waitpid(child, &status, 0);
    if (ended == child) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
    if (errno != EINTR) { return true; }
  }
}

}  // namespace

child_result run_program(std::vector<std::string> const& arguments, clock::time_point deadline) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw error(std::string{"cannot make a pipe to a compiler: "} + std::strerror(errno));
  }
  file_handle const from{ends[0]};
  file_handle to{ends[1]};
  std::vector<std::string> const environment = environment_of_child();
  pid_t child = 0;
  {
    spawn_plan const plan{to.get()};
    int const failed =
        ::posix_spawn(&child, arguments.front().c_str(), &plan.actions, &plan.attributes,
                      pointers_to(arguments).data(), pointers_to(environment).data());
    if (failed != 0) {
      throw error("cannot start " + arguments.front() + ": " + std::strerror(failed));
    }
  }
  to.close();
  child_result result{};
  try {
    result.was_timed_out = !read_until(from.get(), deadline, result.output);
  } catch (...) {
    ::kill(-child, SIGKILL);
    static_cast<void>(wait_for(child));
    throw;
  }
  if (result.was_timed_out) { ::kill(-child, SIGKILL); }
  result.succeeded = wait_for(child) && !result.was_timed_out;
  return result;
}

}  // namespace flotilla::compiler
