// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The memory policy of a thread. These tests cannot show on which node the pages are: that needs a
// machine with two nodes.
#include "base/memory_policy.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <thread>

namespace flotilla::base {
namespace {

struct policy {
  int mode = -1;
  std::array<unsigned long, 16> nodes{};
  bool operator==(policy const&) const = default;

  static policy here() {
    policy made;
    ::syscall(SYS_get_mempolicy, &made.mode, made.nodes.data(), 1025ul, nullptr, 0ul);
    return made;
  }
  [[nodiscard]] bool apply() const {
    return ::syscall(SYS_set_mempolicy, mode, nodes.data(), 1025ul) == 0;
  }
};
policy const by_default{MPOL_DEFAULT, {}};

/// Skips a test if the system refuses the calls. Node 0 exists on every machine.
class MemoryPolicy : public ::testing::Test {
 protected:
  void SetUp() override {
    bool allowed = false;
    std::thread{[&] { allowed = preferred_0.apply(); }}.join();
    if (!allowed) { GTEST_SKIP() << "this system refuses set_mempolicy"; }
    ASSERT_EQ(policy::here(), by_default) << "run the test without numactl";
  }
  policy const preferred_0{MPOL_PREFERRED, {1}};
};

// requirement
TEST_F(MemoryPolicy, PrefersTheNodeAndRestoresTheDefault) {
  {
    preferred_memory const near{0};
    EXPECT_EQ(policy::here(), preferred_0);
  }
  EXPECT_EQ(policy::here(), by_default);
}

// requirement
TEST_F(MemoryPolicy, RestoresTheDefaultAfterAnException) {
  EXPECT_THROW(
      {
        preferred_memory const near{0};
        EXPECT_EQ(policy::here(), preferred_0);
        throw std::runtime_error{"any"};
      },
      std::runtime_error);
  EXPECT_EQ(policy::here(), by_default);
}

// requirement: a policy that the application or numactl has chosen stays
TEST_F(MemoryPolicy, KeepsAPolicyOfTheApplication) {
  std::thread{[] {
    policy const bound{MPOL_BIND, {1}};
    ASSERT_TRUE(bound.apply());
    {
      preferred_memory const near{0};
      EXPECT_EQ(policy::here(), bound);
    }
    EXPECT_EQ(policy::here(), bound);
  }}.join();
}

// requirement: an object inside another one changes nothing
TEST_F(MemoryPolicy, Nests) {
  preferred_memory const outer{0};
  { preferred_memory const inner{0}; }
  EXPECT_EQ(policy::here(), preferred_0);
}

// requirement: without a node, or with a node that the system refuses, there is no effect. errno
// stays.
TEST_F(MemoryPolicy, IgnoresNodesThatDoNotExist) {
  errno = 17;
  for (int const node : {-1, 1023, 1024, 1 << 30}) {
    preferred_memory const near{node};
    EXPECT_EQ(policy::here(), by_default) << node;
  }
  EXPECT_EQ(errno, 17);
}

}  // namespace
}  // namespace flotilla::base
