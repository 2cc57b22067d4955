#include "dispatch/limbo.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla::dispatch {
namespace {

using kinds = limbo::kinds;

bool anything(limbo::item const&) { return true; }

limbo::item memory(std::uint64_t address, unsigned device = 0) {
  return {.kind = kinds::device_memory, .device = device, .address = address};
}

// requirement: what was put goes when no open task is as old as that
TEST(Limbo, KeepsWhatAnOpenTaskMayUse) {
  limbo unused;
  EXPECT_TRUE(unused.empty());
  std::uint64_t const task = unused.epoch();
  unused.put(memory(1));
  EXPECT_FALSE(unused.empty());
  std::uint64_t const later_task = unused.epoch();
  EXPECT_GT(later_task, task);
  EXPECT_FALSE(unused.take(task, anything).has_value()) << "the task was submitted before";
  EXPECT_EQ(unused.take(later_task, anything)->address, 1u) << "the later task cannot use it";
  EXPECT_FALSE(unused.take(later_task, anything).has_value());
  EXPECT_TRUE(unused.empty());
}

// requirement: with no task open, whatever was put may go
TEST(Limbo, GivesEverythingOfClosedEpochs) {
  limbo unused;
  for (std::uint64_t i = 0; i < 10; ++i) { unused.put(memory(i)); }
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(unused.take(unused.epoch(), anything)->address, i);
  }
  EXPECT_TRUE(unused.empty());
}

// requirement: each device frees its own; what is others' stays, in order
TEST(Limbo, GivesOnlyWhatIsAcceptable) {
  limbo unused;
  for (std::uint64_t i = 0; i < 6; ++i) { unused.put(memory(i, static_cast<unsigned>(i % 2))); }
  auto const odd = [](limbo::item const& each) { return each.device == 1; };
  std::vector<std::uint64_t> got;
  while (auto const item = unused.take(unused.epoch(), odd)) { got.push_back(item->address); }
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1, 3, 5}));
  got.clear();
  while (auto const item = unused.take(unused.epoch(), anything)) { got.push_back(item->address); }
  EXPECT_EQ(got, (std::vector<std::uint64_t>{0, 2, 4}));
}

// requirement: who waits for all that was submitted before closes an epoch
TEST(Limbo, ClosesEpochsInOrder) {
  limbo unused;
  std::uint64_t const before = unused.epoch();
  EXPECT_EQ(unused.close_epoch(), before);
  EXPECT_EQ(unused.epoch(), before + 1);
  EXPECT_TRUE(unused.empty());
}

// requirement: a failure is kept by slot and generation
TEST(Limbo, KeepsWhatAnItemSays) {
  limbo unused;
  unused.put({.kind = kinds::failure, .address = 0x10007, .generation = 99});
  std::optional<limbo::item> const got = unused.take(unused.epoch(), anything);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->kind, kinds::failure);
  EXPECT_EQ(got->address, 0x10007u);
  EXPECT_EQ(got->generation, 99u);
}

}  // namespace
}  // namespace flotilla::dispatch
