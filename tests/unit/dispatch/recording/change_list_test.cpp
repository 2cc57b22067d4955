// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/change_list.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <flotilla/kernel/kernel.hpp>

namespace flotilla::dispatch {
namespace {

launch launch_with(std::uint32_t kernel, std::vector<std::uint32_t> const& arguments) {
  static detail::runtime_impl owner{0};
  launch made = detail::launch_builder::make({&owner, kernel}, {}, {});
  for (std::uint32_t const argument : arguments) {
    detail::launch_builder::append<0, std::uint32_t>(made, argument);  // 0: only for error texts
  }
  return made;
}

std::vector<std::uint32_t> arguments_of(change_list const& from, std::size_t i) {
  auto const& change = from.changes()[i];
  std::vector<std::uint32_t> made(change.bytes / sizeof(std::uint32_t));
  if (!made.empty()) { std::memcpy(made.data(), from.arguments(change), change.bytes); }
  return made;
}

// requirement: a list holds only the latest change of each task, even if the changes have different
// sizes
TEST(ChangeList, HoldsTheLatestOfEachTask) {
  change_list list{3};
  list.put(2, launch_with(7, {1, 2}));
  list.put(0, launch_with(8, {3}));
  // The arguments fit into the memory of the task's first change.
  list.put(2, launch_with(9, {4}));
  list.put(0, launch_with(8, {5, 6, 7, 8}));  // too large for the memory of the first change
  ASSERT_EQ(list.changes().size(), 2u);
  EXPECT_EQ(list.changes()[0].task, 2u);
  EXPECT_EQ(list.changes()[0].kernel, 9u);
  EXPECT_EQ(arguments_of(list, 0), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(list.changes()[1].task, 0u);
  EXPECT_EQ(arguments_of(list, 1), (std::vector<std::uint32_t>{5, 6, 7, 8}));
}

// requirement: changes of copies and fills can also be put into a list
TEST(ChangeList, HoldsCopiesAndFills) {
  change_list list{1};
  list.put(0, detail::memory_command{.to = 5, .bytes = 40, .kind = memory_op_kind::fill});
  list.put(0, detail::memory_command{.to = 6, .bytes = 80, .kind = memory_op_kind::fill});
  ASSERT_EQ(list.changes().size(), 1u);
  EXPECT_EQ(list.changes()[0].kernel, change_list::no_kernel);
  detail::memory_command held;
  ASSERT_EQ(list.changes()[0].bytes, sizeof held);
  std::memcpy(&held, list.arguments(list.changes()[0]), sizeof held);
  EXPECT_EQ(held.to, 6u);
  EXPECT_EQ(held.bytes, 80u);
}

// requirement: if both lists change a node, `put_all` keeps only the later change. It keeps the
// changes of all other nodes.
TEST(ChangeList, TakesOverALaterOne) {
  change_list owed{3}, later{3};
  owed.put(0, launch_with(1, {1}));
  owed.put(1, launch_with(1, {2}));
  later.put(1, launch_with(2, {20}));
  later.put(2, launch_with(2, {30}));
  owed.put_all(later);
  ASSERT_EQ(owed.changes().size(), 3u);
  EXPECT_EQ(arguments_of(owed, 0), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(arguments_of(owed, 1), (std::vector<std::uint32_t>{20}));
  EXPECT_EQ(arguments_of(owed, 2), (std::vector<std::uint32_t>{30}));
}

// requirement
TEST(ChangeList, IsEmptyOnceCleared) {
  change_list list{2};
  list.put(1, launch_with(1, {}));
  EXPECT_FALSE(list.empty());
  list.clear();
  EXPECT_TRUE(list.empty());
  list.put(1, launch_with(2, {5}));
  ASSERT_EQ(list.changes().size(), 1u) << "the cleared change must not come back";
  EXPECT_EQ(arguments_of(list, 0), (std::vector<std::uint32_t>{5}));
}

// requirement: a list that was given back is empty when it is reused
TEST(ChangeLists, AreUsedAgain) {
  change_lists lists{1};
  std::uint32_t const first = lists.take();
  std::uint32_t const second = lists.take();
  EXPECT_NE(first, second);
  lists.at(first).put(0, launch_with(1, {1}));
  lists.give_back(first);
  EXPECT_EQ(lists.take(), first);
  EXPECT_TRUE(lists.at(first).empty());
}

}  // namespace
}  // namespace flotilla::dispatch
