// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Limits of the system. An isolated device works, or one error names the limit.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <flotilla/error/error.hpp>

#include "base/driver_notes.hpp"
#include "base/memory_file.hpp"
#include "isolation/channel/sealed_memory.hpp"
#include "isolation/owner/owner.hpp"
#include "support/child.hpp"
#include "support/scale.hpp"
#include "support/thrown.hpp"
#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void set_limit(__rlimit_resource_t which, rlim_t value) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(which, &limit), 0);
  limit.rlim_cur = value;
  ASSERT_EQ(::setrlimit(which, &limit), 0);
}

/// Uses an isolated device. @return why it cannot be used, or an empty text
std::string use_device() {
  try {
    driver::ensure_cpu_devices(1);
    isolated::isolated_choice const choice{0, false};
    auto const api = isolated::isolate(driver::cpu_driver().api, {&choice, 1}, "").forwarding;
    CUcontext context = nullptr;
    if (CUresult const status = api->ctx_create(&context, 0, 0); status != CUDA_SUCCESS) {
      return "cuCtxCreate: status " + std::to_string(status) + ": " + api->recovery->reason(0) +
             base::take_driver_notes(status);
    }
    CUdeviceptr memory = 0;
    CUresult status = api->mem_alloc(&memory, 100000);
    if (status == CUDA_SUCCESS) { status = api->memset_d32(memory, 1, 10); }
    if (status == CUDA_SUCCESS) { status = api->mem_free(memory); }
    std::string const why = api->recovery->reason(0);
    if (!api->recovery->is_lost(0)) { EXPECT_EQ(api->ctx_destroy(context), CUDA_SUCCESS); }
    return status == CUDA_SUCCESS ? "" : "status " + std::to_string(status) + ": " + why;
  } catch (driver_error const& why) { return why.what(); }
}

class IsolationLimits : public ::testing::Test {
 protected:
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
};

// regression: SIGXFSZ ended the process
TEST_F(IsolationLimits, TheLimitOfFilesIsNamed) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    set_limit(RLIMIT_FSIZE, rlim_t{10} << 30);
    EXPECT_THAT(use_device(), AllOf(HasSubstr("ftruncate"), HasSubstr("EFBIG"),
                                    HasSubstr("(ulimit -f) is 10737418240 bytes")));
    set_limit(RLIMIT_FSIZE, before.rlim_cur);
    EXPECT_EQ(use_device(), "");
  });
}

// regression: std::bad_alloc without a word
TEST_F(IsolationLimits, TheLimitOfAddressesIsNamed) {
  if (sanitized) { GTEST_SKIP() << "a sanitizer needs many addresses"; }
  FLOTILLA_EXPECT_IN_CHILD([] {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    for (rlim_t const gigabytes : {10, 300, 700}) {
      set_limit(RLIMIT_AS, gigabytes << 30);
      EXPECT_THAT(use_device(),
                  AllOf(HasSubstr("mmap"), HasSubstr("bytes"), HasSubstr("ulimit -v")))
          << gigabytes;
    }
    set_limit(RLIMIT_AS, before.rlim_cur);
    EXPECT_EQ(use_device(), "");
  });
}

// regression: without a descriptor for the supervisor, the constructor never returned
TEST_F(IsolationLimits, TheLimitOfDescriptorsIsNamed) {
  if (sanitized) { GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors for its checks"; }
  for (int left = 0; left < 14; ++left) {
    FLOTILLA_EXPECT_IN_CHILD([left] {
      static_cast<void>(driver::cpu_driver());
      set_limit(RLIMIT_NOFILE, 200);
      std::vector<int> all;
      for (int made = 0; (made = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
        all.push_back(made);
      }
      for (int i = 0; i < left; ++i) {
        ::close(all.back());
        all.pop_back();
      }
      std::string const why = use_device();
      if (!why.empty()) { EXPECT_THAT(why, HasSubstr("EMFILE")) << left; }
      if (left == 0) { EXPECT_THAT(why, HasSubstr("(ulimit -n) is 200")); }
      for (int const each : all) { ::close(each); }
      EXPECT_EQ(use_device(), "") << left;
    });
  }
}

// regression: the worker could make no thread, its refusal was ignored, and the owner waited
// forever
TEST_F(IsolationLimits, TheLimitOfThreadsEndsNothing) {
  if (sanitized) { GTEST_SKIP() << "a sanitizer needs a thread when a process ends"; }
  if (::geteuid() != 0) { GTEST_SKIP() << "needs root, to become a user without processes"; }
  if (::access(isolated::worker_program("").c_str(), X_OK) != 0) { GTEST_SKIP(); }
  for (unsigned threads = 1; threads < 9; ++threads) {
    FLOTILLA_EXPECT_IN_CHILD([threads] {
      static_cast<void>(driver::cpu_driver());
      unsigned const user = 40000 + static_cast<unsigned>(::getpid()) % 20000;
      ASSERT_EQ(::setresgid(user, user, user), 0);
      ASSERT_EQ(::setresuid(user, user, user), 0);
      set_limit(RLIMIT_NPROC, threads);
      std::string const why = use_device();
      std::fprintf(stderr, "%u: %s\n", threads, why.c_str());
      std::string const limit = "(ulimit -u) is " + std::to_string(threads);
      if (threads == 1) { EXPECT_THAT(why, HasSubstr("pthread_create")); }
      if (!why.empty()) { EXPECT_THAT(why, HasSubstr(limit)); }
    });
  }
}

// regression: without memory for the stack of a thread, the error named other limits only
TEST_F(IsolationLimits, TheLimitOfDataIsNamed) {
  if (sanitized) { GTEST_SKIP() << "a sanitizer needs much data"; }
  for (rlim_t const megabytes : {2, 5, 10, 20, 50}) {
    FLOTILLA_EXPECT_IN_CHILD([megabytes] {
      rlimit before{};
      ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
      set_limit(RLIMIT_DATA, megabytes << 20);
      std::string const why = use_device();
      set_limit(RLIMIT_DATA, before.rlim_cur);
      EXPECT_THAT(why, HasSubstr("(ulimit -d) is " + std::to_string(megabytes << 20)));
    });
  }
}

// regression: the kernel adds a seal to a memfd that is not executable, and the worker refused it
TEST_F(IsolationLimits, MemoryThatIsNotExecutableIsEnough) {
  if (sanitized) { GTEST_SKIP() << "LeakSanitizer cannot work in a new namespace of processes"; }
  for (char const* const level : {"1", "2"}) {
    FLOTILLA_EXPECT_IN_CHILD([level] {
      if (::unshare(CLONE_NEWPID) != 0) { return; }  // needs root
      int const status = forked([level] {
        std::ofstream{"/proc/sys/vm/memfd_noexec"} << level << std::flush;
        std::string const why = use_device();
        if (!why.empty()) { std::fprintf(stderr, "level %s: %s\n", level, why.c_str()); }
        return why.empty() ? 0 : 1;
      });
      EXPECT_EQ(status, 0) << level;
    });
  }
}

// requirement: more seals than needed are right
TEST_F(IsolationLimits, MoreSealsAreAccepted) {
  isolated::descriptor const made = isolated::make_sealed_memory("test", 65536);
  EXPECT_TRUE(isolated::is_sealed_memory(made.get(), 65536));
  EXPECT_FALSE(isolated::is_sealed_memory(made.get(), 65537));
  isolated::descriptor const open{base::make_memory_file("test")};
  ASSERT_TRUE(base::set_file_size(open.get(), 65536));
  EXPECT_FALSE(isolated::is_sealed_memory(open.get(), 65536)) << "it has too few seals";
}

}  // namespace
}  // namespace flotilla::test
