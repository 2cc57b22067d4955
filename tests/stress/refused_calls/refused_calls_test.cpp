// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The system refuses the n-th call of a function that isolation uses, in the owner or in a worker,
// for each n. The program must end in time, and each ticket is right or its error names the reason.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "support/devices.hpp"

namespace flotilla::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct refused_call {
  char const* name;
  std::vector<int> errors;
};

void PrintTo(refused_call const& what, std::ostream* to) { *to << what.name; }

struct result {
  int status = 0;
  std::string text;
  bool was_refused = false;
};

class RefusedCalls : public ::testing::TestWithParam<std::tuple<refused_call, char const*>> {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    char folder[] = "/tmp/flotilla_refused_XXXXXX";
    folder_ = ::mkdtemp(folder);
  }
  void TearDown() override {
    if (!folder_.empty()) { std::filesystem::remove_all(folder_); }
  }
  /// Runs the client. The n-th call gets the error.
  result run(int n, int error, bool always) const {
    auto const& [call, role] = GetParam();
    std::filesystem::path const mark = folder_ / "mark";
    std::filesystem::remove(mark);
    std::string const command =
        "FLOTILLA_TEST_REFUSED_CALL=" + std::string{call.name} +
        " FLOTILLA_TEST_REFUSED_NUMBER=" + std::to_string(n) +
        (always ? " FLOTILLA_TEST_REFUSED_ALWAYS=1" : "") +
        " FLOTILLA_TEST_REFUSED_ERRNO=" + std::to_string(error) +
        " FLOTILLA_TEST_REFUSED_IN=" + role + " FLOTILLA_TEST_REFUSED_MARK=" + mark.string() +
        " LD_PRELOAD=" FLOTILLA_REFUSE_CALLS " " FLOTILLA_REFUSED_CALLS_CLIENT " 2>&1";
    result found;
    FILE* const from = ::popen(command.c_str(), "r");
    char part[512];
    while (from != nullptr && std::fgets(part, sizeof part, from) != nullptr) {
      found.text += part;
    }
    found.status = from != nullptr ? ::pclose(from) : -1;
    found.was_refused = std::filesystem::exists(mark);
    return found;
  }

  static void check(result const& found, int error, std::string const& which) {
    EXPECT_TRUE(WIFEXITED(found.status) && WEXITSTATUS(found.status) == 0)
        << which << ", " << ::strerrorname_np(error) << ", status " << found.status << ": "
        << found.text;
    if (found.text.find("error: ") == std::string::npos) { return; }
    std::string const name = std::get<0>(GetParam()).name;
    // The CPU driver makes these calls, too, and returns a status.
    bool const is_of_driver = name == "mmap" || name == "fcntl" || name == "pthread_create";
    EXPECT_THAT(found.text,
                AnyOf(HasSubstr(name), HasSubstr(::strerrorname_np(error)),
                      HasSubstr(::strerrordesc_np(error)), HasSubstr("worker process"),
                      // the status of a device that was lost
                      HasSubstr(is_of_driver ? "CUDA_ERROR_" : "CUDA_ERROR_LAUNCH_FAILED")))
        << which;
  }

 private:
  std::filesystem::path folder_;
};

// stress
TEST_P(RefusedCalls, EachCallHasAnEndAndANamedError) {
  constexpr int max_calls = 40;
  auto const& [call, role] = GetParam();
  for (int n = 1; n <= max_calls; ++n) {
    int const error = call.errors[static_cast<std::size_t>(n) % call.errors.size()];
    result const found = run(n, error, false);
    check(found, error, "call " + std::to_string(n));
    if (!found.was_refused) { break; }
  }
}

// stress: a filter of system calls refuses all of them
TEST_P(RefusedCalls, AFilterHasAnEndAndANamedError) {
  for (int const error : std::get<0>(GetParam()).errors) {
    check(run(1, error, true), error, "all calls");
  }
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedCalls,
    ::testing::Combine(
        ::testing::Values(
            refused_call{"memfd_create", {EMFILE, ENOSYS, EPERM}},
            refused_call{"ftruncate", {EPERM, ENOSPC}}, refused_call{"fcntl", {EMFILE, EPERM}},
            refused_call{"mmap", {ENOMEM, EPERM}}, refused_call{"madvise", {ENOSYS, EINVAL}},
            refused_call{"fallocate", {EOPNOTSUPP, EPERM}},
            refused_call{"socketpair", {EMFILE, EPERM}}, refused_call{"sendmsg", {EPERM, ENOBUFS}},
            refused_call{"recvmsg", {EPERM, ENOMEM}}, refused_call{"poll", {ENOMEM, EINVAL}},
            refused_call{"eventfd", {EMFILE, ENOSYS}},
            refused_call{"posix_spawn", {EAGAIN, EPERM, ENOMEM}},
            refused_call{"waitid", {EPERM, ENOSYS}}, refused_call{"prctl", {EPERM, ENOSYS}},
            refused_call{"pthread_create", {EAGAIN}},
            refused_call{"pidfd_open", {ENOSYS, EPERM, EMFILE}},
            refused_call{"pidfd_send_signal", {ENOSYS, EPERM}}),
        ::testing::Values("owner", "worker")),
    [](auto const& each) {
      return std::string{std::get<0>(each.param).name} + "_in_the_" + std::get<1>(each.param);
    });

}  // namespace
}  // namespace flotilla::test
