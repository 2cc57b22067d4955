// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The records of a grid in a recorded graph: what the device would read.

#include "dispatch/recording/recorded_grid.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "dispatch/recording/node_plan.hpp"
#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

/// One launch: its grid, and the value of its only argument.
struct one_launch {
  extent grid{};
  std::uint64_t value = 0;
  bool operator==(one_launch const&) const = default;
};

std::uint32_t blocks_of(one_launch const& of) { return of.grid.x * of.grid.y * of.grid.z; }

class RecordedGrid : public lane_test {
 protected:
  static constexpr recorded_grid::form form{.kernel = 3, .shared_bytes = 16, .block = {32, 1, 1}};

  ~RecordedGrid() override { memory_.destroy(); }

  recorded_grid make(std::vector<one_launch> const& launches) {
    auto const count = static_cast<std::uint32_t>(launches.size());
    recorded_grid made{{memory_, page_, form, count, sizeof(std::uint64_t)}};
    std::uint64_t blocks = 0;
    for (one_launch const& each : launches) { blocks += blocks_of(each); }
    made.begin(memory_.take(recorded_grid::bytes_for(count, sizeof(std::uint64_t), blocks)));
    for (std::uint32_t i = 0; i < count; ++i) { put(made, i, launches[i]); }
    EXPECT_TRUE(made.close());
    made.launched();
    return made;
  }
  static void put(recorded_grid& into, std::uint32_t i, one_launch const& what) {
    into.put(i,
             {.kernel = form.kernel,
              .shared_bytes = form.shared_bytes,
              .grid = what.grid,
              .block = form.block,
              .bytes = sizeof what.value},
             reinterpret_cast<std::byte const*>(&what.value));
  }
  /// Reads what each block of the grid would run, and checks that these are all blocks of the
  /// launches.
  static std::vector<one_launch> read(recorded_grid::contents const& from, std::size_t count) {
    std::vector<one_launch> found(count);
    std::vector<std::set<std::uint32_t>> seen(count);
    auto const& [records, blocks, stride, each] = from.parameters;
    for (std::uint32_t block = 0; block < from.blocks; ++block) {
      std::uint32_t const i =
          each != 0 ? block / each : reinterpret_cast<std::uint32_t const*>(blocks)[block];
      auto const* const at = reinterpret_cast<std::byte const*>(records) + std::size_t{i} * stride;
      detail::twin_record head;
      std::memcpy(&head, at, sizeof head);
      found.at(i).grid = {head.grid[0], head.grid[1], head.grid[2]};
      std::memcpy(&found[i].value, at + sizeof head, sizeof found[i].value);
      seen[i].insert(block - head.first_block);
    }
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(seen[i].size(), blocks_of(found[i])) << i;
      if (!seen[i].empty()) { EXPECT_EQ(*seen[i].rbegin() + 1, blocks_of(found[i])) << i; }
    }
    return found;
  }

  registered_slabs memory_{context_};
};

// requirement: each block finds its launch, whether or not all launches have the same size
TEST_F(RecordedGrid, BlocksFindTheirLaunches) {
  for (std::uint32_t most : {1u, 4u}) {
    std::vector<one_launch> launches;
    for (std::uint32_t i = 0; i < 100; ++i) {
      launches.push_back({{1 + i % most, 1 + i % 2 * (most - 1), 1}, i * 7});
    }
    recorded_grid grid = make(launches);
    EXPECT_EQ(read(grid.wanted(), launches.size()), launches);
    EXPECT_EQ(grid.wanted().parameters.blocks_each, most == 1 ? 1u : 0u);
    grid.give_back();
  }
}

// requirement: while launches are in flight, nothing that they read changes, whatever the other
// launches change. Memory is used again, so the number of copies is bounded
TEST_F(RecordedGrid, LaunchesInFlightKeepTheirRecords) {
  std::mt19937 random{11};
  auto const below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 20; ++round) {
    std::uint32_t const count = 4 + below(40);
    bool const resizes = round % 3 == 0;
    std::vector<one_launch> now(count);
    recorded_grid grid = make(now);
    struct flight {
      recorded_grid::contents reads;
      std::vector<one_launch> expected;
      std::uint64_t number;
    };
    std::deque<flight> in_flight;
    std::set<CUdeviceptr> used;
    std::uint64_t const first = page_.number(1);
    std::uint64_t number = first;
    for (int launch = 0; launch < 200; ++launch) {
      std::uint32_t const changes = below(4) == 0 ? count : below(4);
      if (changes != 0) { grid.open({1, number == first ? 0 : number}); }
      for (std::uint32_t k = 0; k < changes; ++k) {
        std::uint32_t const i = changes == count ? k : below(count);
        now[i].value = random();
        if (resizes && below(3) == 0) { now[i].grid = {1 + below(3), 1 + below(2), 1}; }
        put(grid, i, now[i]);
      }
      ASSERT_TRUE(grid.close());
      grid.launched();
      in_flight.push_back({grid.wanted(), now, ++number});
      used.insert(grid.wanted().parameters.records);
      while (in_flight.size() > 5 || (!in_flight.empty() && below(3) == 0)) {
        ASSERT_EQ(read(in_flight.front().reads, count), in_flight.front().expected)
            << "launch " << launch << ", round " << round;
        page_.raise(1, in_flight.front().number);
        in_flight.pop_front();
      }
    }
    EXPECT_GT(used.size(), 1u);
    EXPECT_LE(used.size(), resizes ? 24u : 7u);
    grid.give_back();
  }
}

// requirement: if no launch is in flight, changes are made in place, and the node of the grid stays
// as it is
TEST_F(RecordedGrid, ChangesInPlaceIfNothingIsInFlight) {
  recorded_grid grid = make(std::vector<one_launch>(10));
  EXPECT_TRUE(grid.must_rewrite());
  grid.set_rewritten();
  for (std::uint64_t i = 0; i < 10; ++i) {
    grid.open({1, page_.number(1)});
    put(grid, 3, {{}, i});
    ASSERT_TRUE(grid.close());
    EXPECT_FALSE(grid.must_rewrite());
    EXPECT_EQ(read(grid.wanted(), 10)[3].value, i);
    grid.launched();
  }
  grid.open({1, page_.number(1)});
  put(grid, 3, {{2, 1, 1}, 0});
  ASSERT_TRUE(grid.close());
  EXPECT_TRUE(grid.must_rewrite()) << "the grid has more blocks";
  grid.give_back();
}

// requirement: until the first change, launches read the copy on the device. The first copy does
// not change while a launch is in flight, because an earlier launch may still read it
TEST_F(RecordedGrid, ReadsTheDeviceCopyUntilTheFirstChange) {
  for (bool const in_flight : {false, true}) {
    recorded_grid grid = make(std::vector<one_launch>(10));
    recorded_grid::contents const first = grid.wanted();
    grid.set_rewritten();
    EXPECT_TRUE(grid.use_device_copy(4096));
    EXPECT_EQ(grid.wanted().parameters.records, first.parameters.records + 4096);
    EXPECT_TRUE(grid.must_rewrite());
    grid.set_rewritten();
    grid.open({1, page_.number(1) + (in_flight ? 1 : 0)});
    put(grid, 0, {{}, 5});
    ASSERT_TRUE(grid.close());
    EXPECT_EQ(grid.wanted().parameters.records != first.parameters.records, in_flight);
    EXPECT_TRUE(grid.must_rewrite());
    EXPECT_EQ(read(grid.wanted(), 10)[0].value, 5u);
    EXPECT_EQ(read(first, 10)[0].value, in_flight ? 0u : 5u);
    EXPECT_FALSE(grid.use_device_copy(4096)) << "the copy on the device is too old";
    grid.give_back();
  }
}

// requirement: the first copy stays as it is if it was still being copied to the device when the
// first change came
TEST_F(RecordedGrid, KeepsTheFirstCopyWhileItIsRead) {
  std::vector<one_launch> const before{{{1, 1, 1}, 1}, {{2, 1, 1}, 2}};
  recorded_grid grid = make(before);
  recorded_grid::contents const first = grid.wanted();
  for (std::uint64_t value : {10u, 20u, 30u}) {
    grid.open({}, value == 10);
    put(grid, 1, {{3, 1, 1}, value});
    ASSERT_TRUE(grid.close());
    grid.launched();
    EXPECT_EQ(read(first, 2), before);
    EXPECT_EQ(read(grid.wanted(), 2), (std::vector<one_launch>{before[0], {{3, 1, 1}, value}}));
  }
  grid.give_back();
}

// requirement: a grid refuses more blocks than a grid may have, until its launches have fewer
TEST_F(RecordedGrid, RefusesTooManyBlocks) {
  constexpr std::uint32_t count = 2000;
  recorded_grid grid = make(std::vector<one_launch>(count));
  grid.open({});
  for (std::uint32_t i = 0; i < count; ++i) { put(grid, i, {{1024, 1, 1}, i}); }
  EXPECT_FALSE(grid.close());
  EXPECT_FALSE(grid.close());
  for (std::uint32_t i = 0; i < count; ++i) { put(grid, i, {{i % 500 + 1, 1, 1}, i}); }
  EXPECT_TRUE(grid.close());
  EXPECT_EQ(read(grid.wanted(), count)[1999], (one_launch{{500, 1, 1}, 1999}));
  grid.give_back();
}

// requirement: the contents can be read back, for a new graph
TEST_F(RecordedGrid, GivesItsContents) {
  recorded_grid grid = make({{{2, 3, 1}, 5}, {{1, 1, 1}, 6}, {{}, 7}, {{}, 8}});
  change_list list{0};
  grid.copy_to(list, 9, 0);
  change_list::change const& found = list.of(9);
  EXPECT_EQ(recorded_grid::form::of(found), form);
  EXPECT_EQ(found.grid, (extent{2, 3, 1}));
  std::uint64_t value = 0;
  ASSERT_EQ(found.bytes, sizeof value);
  std::memcpy(&value, list.arguments(found), sizeof value);
  EXPECT_EQ(value, 5u);
  grid.give_back();
}

}  // namespace
}  // namespace flotilla::dispatch
