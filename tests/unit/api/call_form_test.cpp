// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A submit passes its options to the library in the short form only if the short form has all of
// them.

#include <flotilla/detail/call_form.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace flotilla::test {
namespace {

using slots = std::vector<std::uint32_t>;

/// What a submit has passed.
struct passed {
  bool is_short = false;
  detail::device_number device = detail::any_device;
  slots after{};
};

struct receiver {
  passed operator()(detail::device_number device) const { return {true, device}; }
  passed operator()(detail::device_number device, std::span<task_id const> after) const {
    passed made{true, device};
    for (task_id const& each : after) {
      EXPECT_EQ(each.runtime, 7u);
      EXPECT_EQ(each.generation, each.slot + 100);
      made.after.push_back(each.slot);
    }
    return made;
  }
  passed operator()(task_options const&) const { return {}; }
};

[[nodiscard]] passed pass(task_options const& options) {
  return detail::in_short_form(options, receiver{});
}

[[nodiscard]] task_id task(std::uint32_t slot) { return {7, slot, slot + 100}; }

TEST(CallForm, ADeviceIsPassedAsANumber) {
  EXPECT_EQ(pass({}).device, detail::any_device);
  EXPECT_EQ(pass({.device = device_ordinal{0}}).device, 0);
  EXPECT_EQ(pass({.device = device_ordinal{~0u}}).device, 0xffffffff);
  EXPECT_TRUE(pass({}).is_short);
  EXPECT_TRUE(pass({.device = device_ordinal{0}}).is_short);
  EXPECT_TRUE(pass(task_options{}).after.empty());
}

// requirement: each predecessor is passed, in its order. Lists of up to four tasks are copied if
// the compiler knows their size
TEST(CallForm, PredecessorsAreKept) {
  EXPECT_EQ(pass({.after = {task(1)}}).after, slots{1});
  EXPECT_EQ(pass({.after = {task(1), task(2), task(3), task(4)}}).after, (slots{1, 2, 3, 4}));
  EXPECT_EQ(pass({.after = {task(1), task(2), task(3), task(4), task(5)}}).after,
            (slots{1, 2, 3, 4, 5}));
  for (std::uint32_t count = 0; count < 20; ++count) {
    slots all;
    task_options options;
    options.device = device_ordinal{3};
    for (std::uint32_t i = 0; i < count; ++i) {
      all.push_back(i);
      options.after.add(task(i));
    }
    passed const made = pass(options);
    EXPECT_TRUE(made.is_short);
    EXPECT_EQ(made.device, 3);
    EXPECT_EQ(made.after, all);
  }
}

// requirement: an option that the short form does not have is not lost
TEST(CallForm, OtherOptionsArePassedWhole) {
  using clock = std::chrono::steady_clock;
  std::stop_source const source;
  EXPECT_FALSE(pass({.label = "name"}).is_short);
  EXPECT_FALSE(pass({.after_end = {task(1)}}).is_short);
  EXPECT_FALSE(pass({.batch = false}).is_short);
  EXPECT_FALSE(pass({.priority = -1}).is_short);
  EXPECT_FALSE(pass({.priority = 1}).is_short);
  EXPECT_FALSE(pass({.stop = source.get_token()}).is_short);
  EXPECT_FALSE(pass({.deadline = clock::time_point::max() - clock::duration{1}}).is_short);
  EXPECT_FALSE(pass({.repeatable = true}).is_short);
  EXPECT_FALSE(pass({.after = {task(1)}, .repeatable = true}).is_short);
  EXPECT_TRUE(pass({.label = "", .batch = true, .priority = 0, .repeatable = false}).is_short);
}

// requirement: copies of a list own their tasks, also after the list has outgrown its own memory
TEST(CallForm, CopiesOfLongListsAreIndependent) {
  dependency_list long_list;
  for (std::uint32_t i = 0; i < 30; ++i) { long_list.add(task(i)); }
  std::optional<dependency_list> copy{long_list};
  dependency_list const second{*copy};
  copy->add(task(99));
  copy.reset();
  ASSERT_EQ(second.size(), 30u);
  for (std::uint32_t i = 0; i < 30; ++i) { EXPECT_EQ(second[i].slot, i); }
  dependency_list assigned;
  assigned = second;
  assigned = dependency_list{};
  EXPECT_TRUE(assigned.empty());
}

}  // namespace
}  // namespace flotilla::test
