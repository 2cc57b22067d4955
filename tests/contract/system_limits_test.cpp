// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A process with small limits of the system: either everything works, or one exception says what
// the system refused. Each case runs in a process of its own.

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class SystemLimits : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    FLOTILLA_NEED_CPU_DRIVER();
    if (sanitized) { GTEST_SKIP() << "a sanitizer needs memory and threads itself"; }
  }
};

void set_limit(__rlimit_resource resource, rlim_t value) {
  ::rlimit limit{};
  ASSERT_EQ(::getrlimit(resource, &limit), 0);
  limit.rlim_cur = value;
  ASSERT_EQ(::setrlimit(resource, &limit), 0);
}

/// Uses each kind of resource. @return the text of the exception; empty if all results are right.
std::string hello(int workers) {
  try {
    runtime rt{{.devices = "cpu:1", .workers = workers}};
    test_program const program{rt};
    std::vector<std::uint32_t> const words(100'000, 1);
    std::vector<std::uint32_t> pageable(words.size());
    device_buffer<std::uint32_t> buffer{rt, device_ordinal{0}, words};
    host_buffer<std::uint32_t> pinned{rt, words.size()};
    ticket const added = rt.submit(program.add.with_shape({1}, {1})(buffer, 2u));
    rt.submit(buffer.copy_to(pinned), {.after = {added}}).wait();
    rt.submit(buffer.copy_to(std::span{pageable}), {.after = {added}}).wait();
    rt.submit(host_task([] {})).wait();
    rt.submit(program.nothing.with_shape({1}, {1})()).then([](std::exception_ptr) {});
    rt.wait_idle();
    if (pinned[0] != 3 || pageable[0] != 3) { return "wrong results"; }
    return "";
  } catch (std::exception const& why) { return why.what(); }
}

// requirement: a limit on the size of files stops kernels from being loaded, but not with a signal
TEST_F(SystemLimits, SizeOfFiles) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    set_limit(RLIMIT_FSIZE, 100);
    EXPECT_THAT(hello(1), ::testing::AllOf(::testing::HasSubstr("RLIMIT_FSIZE"),
                                           ::testing::HasSubstr("bytes of the kernels")));
  });
}

// requirement: a trace that becomes too long for the limit ends, and the program goes on
TEST_F(SystemLimits, SizeOfTraces) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::string const file = "/tmp/flotilla_limit_" + std::to_string(::getpid()) + ".pftrace";
    ::setenv("FLOTILLA_TRACE", file.c_str(), 1);
    runtime rt{{.devices = "cpu:1", .workers = 0}};
    set_limit(RLIMIT_FSIZE, 4096);  // stderr may be a file, too
    for (int i = 0; i < 1000; ++i) {
      rt.submit([](task_context&) {}).wait();
    }
    ::unlink(file.c_str());
  });
}

// requirement: without descriptors, the exception names the limit
TEST_F(SystemLimits, Descriptors) {
  for (int const left : {0, 1, 2, 3, 4}) {
    FLOTILLA_EXPECT_IN_CHILD([left] {
      set_limit(RLIMIT_NOFILE, 100);
      std::vector<int> used;
      for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) {
        used.push_back(fd);
      }
      for (int i = 0; i < left; ++i) {
        ::close(used.back());
        used.pop_back();
      }
      EXPECT_THAT(hello(1), ::testing::AnyOf("", ::testing::HasSubstr("RLIMIT_NOFILE")));
      for (int const fd : used) { ::close(fd); }
    });
  }
}

// requirement: if there are too few threads, either everything works, or the exception says so
TEST_F(SystemLimits, Threads) {
  if (::geteuid() != 0) { GTEST_SKIP() << "needs root, to become a user without processes"; }
  for (int const workers : {0, 1}) {
    for (rlim_t const threads : {1, 2, 3, 4, 5, 6, 8}) {
      FLOTILLA_EXPECT_IN_CHILD([threads, workers] {
        ASSERT_EQ(::setresuid(32'000'000 + static_cast<uid_t>(::getpid()), uid_t(-1), uid_t(-1)),
                  0);
        ASSERT_EQ(::seteuid(::getuid()), 0);
        set_limit(RLIMIT_NPROC, threads);
        EXPECT_THAT(hello(workers), ::testing::AnyOf("", ::testing::HasSubstr("RLIMIT_NPROC")))
            << threads << " threads";
      });
    }
  }
}

// requirement: if there is too little memory, the exception names the bytes or the limit
TEST_F(SystemLimits, Memory) {
  for (auto const resource : {RLIMIT_AS, RLIMIT_DATA}) {
    char const* const name = resource == RLIMIT_AS ? "RLIMIT_AS" : "RLIMIT_DATA";
    for (rlim_t const mebibytes : {50, 100, 200, 400, 1000}) {
      FLOTILLA_EXPECT_IN_CHILD([resource, name, mebibytes] {
        set_limit(resource, mebibytes << 20);
        EXPECT_THAT(hello(1), ::testing::AnyOf("", ::testing::HasSubstr(name)))
            << mebibytes << " MiB";
      });
    }
  }
}

// requirement: nothing needs locked memory or large stacks
TEST_F(SystemLimits, LockedMemoryAndStacks) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    set_limit(RLIMIT_MEMLOCK, 0);
    set_limit(RLIMIT_STACK, 256 << 10);
    EXPECT_EQ(hello(1), "");
  });
}

/// From now on, memfd_create fails with this errno.
void refuse_memory_files(unsigned error) {
  ::sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(::seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_memfd_create},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  ::sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::fputs("no seccomp: nothing is tested\n", stderr);
    std::exit(0);
  }
}

// requirement: a system that refuses files in memory is named as the reason
TEST_F(SystemLimits, MemoryFiles) {
  for (unsigned const error : {unsigned{EPERM}, unsigned{ENOSYS}}) {
    FLOTILLA_EXPECT_IN_CHILD([error] {
      refuse_memory_files(error);
      EXPECT_THAT(hello(1), ::testing::HasSubstr("memfd_create"));
    });
  }
}

}  // namespace
}  // namespace flotilla::test
