// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The parts of a trace by themselves: rows, buffers, and the report of the tool.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "dispatch/trace/trace_thread.hpp"
#include "dispatch/trace/track_rows.hpp"
#include "trace_report.hpp"

namespace flotilla::dispatch {
namespace {

// requirement: no two slices of a row overlap, and slices that do not overlap share a row
TEST(TrackRows, SlicesOfARowDoNotOverlap) {
  track_rows rows;
  std::mt19937 random{3};
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> slices(1);
  std::uint64_t used = 0;
  for (int i = 0; i < 2000; ++i) {
    auto const begin = static_cast<std::int64_t>(random() % 10'000);
    auto const end = begin + static_cast<std::int64_t>(random() % 50);
    track_rows::row& row = rows.take(begin, end);
    if (row.track == 0) {
      row.track = ++used;
      slices.emplace_back();
    }
    for (auto const& [other_begin, other_end] : slices[row.track]) {
      EXPECT_TRUE(end <= other_begin || other_end <= begin);
    }
    slices[row.track].emplace_back(begin, end);
  }
}

// requirement: the tasks of a batch get rows side by side, and the next batch uses the same rows
TEST(TrackRows, BatchesShareRows) {
  track_rows rows;
  std::uint64_t used = 0;
  for (int batch = 0; batch < 10; ++batch) {
    for (int task = 0; task < 64; ++task) {
      track_rows::row& row = rows.take(batch * 100, batch * 100 + 100);
      if (row.track == 0) { row.track = ++used; }
      EXPECT_EQ(row.track, static_cast<std::uint64_t>(task) + 1);
    }
  }
}

// boundary: slices without a length share a row, although they have the same times
TEST(TrackRows, SlicesWithoutALengthShareARow) {
  track_rows rows;
  for (int i = 0; i < 100; ++i) {
    track_rows::row& row = rows.take(50, 50);
    if (i == 0) { row.track = 1; }
    EXPECT_EQ(row.track, 1u);
  }
}

batch_record numbered(std::uint64_t number) {
  return {.head = {.session = 1, .words = words_of<batch_record>, .kind = record_kind::batch},
          .launched = static_cast<std::int64_t>(number)};
}

void push(trace_thread& to, std::uint64_t number) {
  batch_record const record = numbered(number);
  to.push({reinterpret_cast<std::uint64_t const*>(&record), words_of<batch_record>});
}

// requirement: records arrive complete and in order while another thread takes them; what finds no
// room is dropped as a whole and counted
TEST(TraceThread, RecordsArriveInOrderOrAreCounted) {
  constexpr std::uint64_t records = 400'000;
  trace_budget budget;
  budget.set(trace_thread::buffer_bytes);
  std::atomic<trace_thread*> shared{nullptr};
  std::atomic<bool> done{false};
  std::thread owner{[&] {
    trace_thread own{7, budget};
    shared.store(&own);
    for (std::uint64_t i = 0; i < records; ++i) { push(own, i); }
    done.store(true);
    done.notify_all();
    while (shared.load() != nullptr) { std::this_thread::yield(); }
  }};
  while (shared.load() == nullptr) { std::this_thread::yield(); }
  trace_thread& one = *shared.load();
  EXPECT_EQ(one.index(), 7u);
  std::vector<std::uint64_t> scratch(trace_thread::max_words);
  std::uint64_t taken = 0;
  std::int64_t last = -1;
  bool is_last_round = false;
  while (!is_last_round) {
    is_last_round = done.load();
    one.take_all(
        scratch.data(), [] {},
        [&](std::span<std::uint64_t const> words) {
          ASSERT_EQ(words.size(), words_of<batch_record>);
          auto const when = static_cast<std::int64_t>(words[1]);
          EXPECT_GT(when, last);
          last = when;
          ++taken;
        });
  }
  EXPECT_EQ(taken + one.dropped(), records);
  EXPECT_EQ(one.dropped_tasks(), 0u);
  shared.store(nullptr);
  owner.join();
}

// boundary: without memory, everything is dropped and counted
TEST(TraceThread, WithoutMemoryEverythingIsCounted) {
  trace_budget budget;
  budget.set(trace_thread::buffer_bytes - 1);
  trace_thread one{0, budget};
  for (int i = 0; i < 10; ++i) { push(one, 1); }
  EXPECT_EQ(one.dropped(), 10u);
  EXPECT_FALSE(budget.take(trace_thread::buffer_bytes));
  EXPECT_TRUE(budget.take(trace_thread::buffer_bytes - 1)) << "a refusal takes nothing";
}

// requirement: a full buffer drops whole records, and works again after it was emptied
TEST(TraceThread, FullBufferWorksAgain) {
  trace_budget budget;
  budget.set(trace_thread::buffer_bytes);
  trace_thread one{0, budget};
  while (one.dropped() == 0) { push(one, 1); }
  std::vector<std::uint64_t> scratch(trace_thread::max_words);
  std::size_t taken = 0;
  one.take_all(
      scratch.data(), [] {}, [&](auto) { ++taken; });
  EXPECT_EQ(taken, trace_thread::buffer_bytes / sizeof(batch_record));
  push(one, 2);
  EXPECT_EQ(one.take_all(
                scratch.data(), [] {}, [](auto) {}),
            words_of<batch_record>);
  EXPECT_EQ(one.dropped(), 1u);
  one.free_buffer();
  EXPECT_TRUE(budget.take(trace_thread::buffer_bytes));
}

// requirement: different tasks have different numbers
TEST(TraceNumber, TasksOfASlotAndOfOthersDiffer) {
  EXPECT_NE(trace_number(5, 1), trace_number(5, 3));
  EXPECT_NE(trace_number(5, 1), trace_number(6, 1));
  EXPECT_NE(trace_number(0x0001'0005, 1), trace_number(5, 1));
  EXPECT_EQ(trace_number(5, 0x1'0000'0001), trace_number(5, 1)) << "only the lower half is known";
}

tool::trace_slice task(std::string name, std::int64_t begin, std::int64_t end,
                       std::uint64_t queue = 0) {
  return {.track = 2,
          .name = std::move(name),
          .category = "task",
          .begin = begin,
          .end = end,
          .submitted = begin - static_cast<std::int64_t>(queue),
          .values = {{"queue_ns", queue}, {"run_ns", static_cast<std::uint64_t>(end - begin)}},
          .kernel = {}};
}

// requirement: the path goes back from the last end, over the predecessors that ended last
TEST(TraceReport, CriticalPathFollowsTheLastPredecessors) {
  tool::trace_model trace;
  trace.tracks = {{1, {0, "device 0: test"}}, {2, {1, "tasks"}}};
  trace.slices = {task("a", 0, 10),  task("b", 0, 20),  task("c", 20, 30),
                  task("d", 20, 50), task("e", 50, 60), task("lone", 0, 55)};
  trace.arrows = {{0, 2}, {1, 2}, {1, 3}, {2, 4}, {3, 4}};
  EXPECT_EQ(tool::critical_path(trace), (std::vector<std::size_t>{1, 3, 4}));
  trace.arrows.push_back({4, 1});  // a damaged file must not hang the tool
  EXPECT_LE(tool::critical_path(trace).size(), trace.slices.size());
}

// requirement: waits are sorted, and gaps are found
TEST(TraceReport, WaitsAndGaps) {
  tool::trace_model trace;
  trace.tracks = {{1, {0, "device 0: test"}}, {2, {1, "tasks"}}};
  trace.slices = {task("a", 100, 200, 5), task("b", 150, 250, 90), task("c", 400, 500, 7)};
  EXPECT_EQ(tool::longest_waits(trace, 2), (std::vector<std::size_t>{1, 2}));
  std::vector<tool::device_use> const uses = tool::use_of_devices(trace);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].busy_time(), 250);
  ASSERT_EQ(uses[0].idle().size(), 1u);
  EXPECT_EQ(uses[0].idle()[0].begin, 250);
  EXPECT_EQ(uses[0].idle()[0].end, 400);
  EXPECT_TRUE(tool::longest_waits(tool::trace_model{}, 5).empty());
  EXPECT_TRUE(tool::critical_path(tool::trace_model{}).empty());
}

}  // namespace
}  // namespace flotilla::dispatch
