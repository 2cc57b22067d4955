// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The NUMA nodes of the machine. The trees are made by the tests, so these tests cannot show that a
// kernel writes its tree in this form.
#include "base/numa_nodes.hpp"

#include <gmock/gmock.h>

#include "support/numa_tree.hpp"

namespace flotilla::base {
namespace {

using test::mask_of;
using test::numa_tree;
using ::testing::HasSubstr;

// requirement
TEST(NumaNodes, ReadsListsOfProcessors) {
  EXPECT_EQ(parse_processors("0-3,8,10-11"), mask_of({0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_processors("5"), mask_of({5}));
  EXPECT_EQ(parse_processors("8191"), mask_of({8191}));
  EXPECT_EQ(parse_processors(""), mask_of({}));
}

// requirement: a list in any other form is no list, and never a part of one
TEST(NumaNodes, RefusesOddLists) {
  for (char const* const odd : {"x", "1,", ",1", "1-", "-1", "3-1", "1--2", "1;2", "1 2", "0x3",
                                "8192", "0-8192", "99999999999999999999999", "0-3:1/2"}) {
    EXPECT_EQ(parse_processors(odd), std::nullopt) << odd;
  }
}

// requirement: only processors of the process count
TEST(NumaNodes, HasTheProcessorsThatTheProcessMayUse) {
  numa_tree const tree{{"0-3", "4-7"}};
  numa_nodes const nodes{tree.root(), mask_of({2, 3, 4, 100})};
  EXPECT_EQ(nodes.usable(), 2u);
  ASSERT_NE(nodes.processors_of(0), nullptr);
  ASSERT_NE(nodes.processors_of(1), nullptr);
  EXPECT_EQ(*nodes.processors_of(0), mask_of({2, 3}));
  EXPECT_EQ(*nodes.processors_of(1), mask_of({4}));
  EXPECT_EQ(nodes.refusal(0), "");
  EXPECT_EQ(nodes.refusal(1), "");
}

// requirement: a device whose node is unknown or outside of the cpuset prefers no node
TEST(NumaNodes, SaysWhyThereIsNoPreference) {
  numa_tree const tree{{"0-3", "4-7", "8-11"}};
  numa_nodes const nodes{tree.root(), mask_of({0, 1, 4})};
  EXPECT_EQ(nodes.processors_of(2), nullptr);
  EXPECT_THAT(nodes.refusal(2), HasSubstr("any processor of NUMA node 2"));
  EXPECT_EQ(nodes.processors_of(-1), nullptr);
  EXPECT_THAT(nodes.refusal(-1), HasSubstr("unknown"));
  EXPECT_EQ(nodes.processors_of(77), nullptr);
  EXPECT_THAT(nodes.refusal(77), HasSubstr("NUMA node 77"));
}

// requirement: with the processors of one node, there is nothing to choose
TEST(NumaNodes, OneUsableNodeIsNoPreference) {
  numa_tree const tree{{"0-3", "4-7"}};
  numa_nodes const nodes{tree.root(), mask_of({0, 1})};
  EXPECT_EQ(nodes.usable(), 1u);
  EXPECT_THAT(nodes.refusal(0), HasSubstr("one NUMA node only"));
}

// requirement: numbers of nodes can have gaps. A node without processors (memory of a GPU), a node
// whose list is odd or missing (offline), and other files are ignored.
TEST(NumaNodes, IgnoresWhatIsNoUsableNode) {
  numa_tree const tree{{"0-1", ""}};
  tree.add("node8", "2-3");
  tree.add("node9", "4-x");
  tree.add("node", "5");
  tree.add("node1x", "6");
  tree.add("power", "7");
  std::filesystem::create_directory(tree.root() / "node10");
  std::ofstream{tree.root() / "online"} << "0-1,8-9\n";
  numa_nodes const nodes{tree.root(), mask_of({0, 1, 2, 3, 4, 5, 6, 7})};
  EXPECT_EQ(nodes.usable(), 2u);
  EXPECT_NE(nodes.processors_of(0), nullptr);
  EXPECT_NE(nodes.processors_of(8), nullptr);
}

// requirement: a system without the folder has no node
TEST(NumaNodes, AMissingFolderIsNoError) {
  numa_tree const tree;
  numa_nodes const empty{tree.root(), mask_of({0})};
  numa_nodes const missing{tree.root() / "none", mask_of({0})};
  EXPECT_EQ(empty.usable(), 0u);
  EXPECT_EQ(missing.usable(), 0u);
  EXPECT_NE(missing.refusal(0), "");
}

// requirement: no node has a processor outside of the affinity mask of the process
TEST(NumaNodes, OfThisMachineAreWithinTheMaskOfTheProcess) {
  numa_nodes const nodes;
  auto const allowed = processor_mask::of_thread(::getpid());
  ASSERT_TRUE(allowed);
  for (int node = 0; node < 1024; ++node) {
    if (auto const* const found = nodes.processors_of(node)) {
      EXPECT_EQ(found->both(*allowed), *found) << node;
    }
  }
}

}  // namespace
}  // namespace flotilla::base
