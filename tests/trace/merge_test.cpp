// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Traces of several ranks, merged into one. The clocks and tasks are made up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/task/trace_stamp.hpp"
#include "dispatch/trace/trace_encoder.hpp"
#include "dispatch/trace/tracer.hpp"
#include "merge_fixture.hpp"
#include "trace_report.hpp"

namespace flotilla::test {
namespace {

using ::testing::HasSubstr;
using tool::clock_answer;
using tool::trace_clock;

// requirement: each answer bounds the difference of the clocks, and the closest bounds count
TEST(TraceClock, ClosestBoundsCount) {
  // The first answer came back at once, and the second question met rank 0 at once.
  trace_clock const clock{{{0, 1000, 5990}, {2000, 3000, 7010}, {4000, 5000, 9500}}};
  EXPECT_EQ(clock(0), 5000);
  EXPECT_EQ(clock(70), 5070);
  EXPECT_EQ(clock.max_error(), 10);
}

// requirement: between two measurements, the difference is a straight line
TEST(TraceClock, DriftIsALine) {
  trace_clock const clock{{{-10, 10, 1000}, {one_second - 10, one_second + 10, one_second + 2000}}};
  EXPECT_EQ(clock(0), 1000);
  EXPECT_EQ(clock(one_second / 2), one_second / 2 + 1500);
  EXPECT_EQ(clock(one_second), one_second + 2000);
  EXPECT_EQ(clock(-one_second), -one_second + 1000);
  EXPECT_EQ(clock(3 * one_second), 3 * one_second + 2000);
}

/// Writes a trace as a rank would do.
class written_trace {
 public:
  written_trace() { encoder_.add_thread(0, 1, "main"); }

  /// @param there  The time of rank 0; 0: it has not answered.
  void rank(std::uint32_t rank, std::int64_t now, std::int64_t there, std::uint64_t run = 7) {
    add(dispatch::record_kind::clock, dispatch::clock_record{.asked = start_ + now - 100,
                                                             .answered = start_ + now + 100,
                                                             .there = there,
                                                             .run = there == 0 ? 0 : run,
                                                             .rank = rank,
                                                             .ranks = 2});
  }
  void message(std::uint64_t task, std::uint64_t arrow, bool sends) {
    add(dispatch::record_kind::message,
        dispatch::message_record{.task = task, .arrow = arrow, .sends = sends ? 1u : 0u});
  }
  void task(std::uint64_t number, std::string const& label, std::int64_t begin, std::int64_t end,
            std::vector<std::uint64_t> after = {},
            std::uint16_t device = dispatch::task_record::no_device) {
    std::size_t const predecessors = after.size();
    after.resize(predecessors + label.size() / 8 + 1);
    std::memcpy(after.data() + predecessors, label.data(), label.size());
    add(dispatch::record_kind::task,
        dispatch::task_record{.number = number,
                              .submitted = start_ + begin,
                              .launched = start_ + begin,
                              .begun = start_ + begin,
                              .ended = start_ + end,
                              .device = device,
                              .lane = dispatch::trace_stamp::no_lane,
                              .from_device = dispatch::task_record::no_device,
                              .predecessors = static_cast<std::uint16_t>(predecessors),
                              .kind = dispatch::task_kind::host,
                              .label_bytes = static_cast<std::uint8_t>(label.size())},
        after);
  }
  [[nodiscard]] tool::trace_part part(std::string const& name) {
    encoder_.finish(start_ + one_second, {.tasks = encoder_.tasks()});
    return {name, encoder_.bytes(), tool::decode_trace(encoder_.bytes(), name).origin};
  }

 private:
  template <class Record>
  void add(dispatch::record_kind kind, Record record, std::vector<std::uint64_t> const& tail = {}) {
    record.head.kind = kind;
    std::vector<std::uint64_t> words(dispatch::words_of<Record>);
    std::memcpy(words.data(), &record, sizeof record);
    words.insert(words.end(), tail.begin(), tail.end());
    encoder_.add(words);
  }

  dispatch::trace_encoder encoder_{dispatch::trace_names{.devices = {"a device"}}};
  std::int64_t const start_ = dispatch::tracer::now();
};

/// Two ranks. The clock of rank 0 is an hour ahead of that of rank 1.
class MergedTraces : public ::testing::Test {
 protected:
  static constexpr std::int64_t hour = 3600 * one_second;
  MergedTraces() {
    zero_.rank(0, 0, 10 * hour);
    one_.rank(1, 0, 9 * hour);
  }
  [[nodiscard]] tool::trace_model merge() { return merged({one_.part("one"), zero_.part("zero")}); }
  written_trace zero_, one_;
};

// requirement: times of all ranks are on the clock of rank 0
TEST_F(MergedTraces, ClocksAreMatched) {
  zero_.task(1, "on zero", 1 * one_ms, 2 * one_ms);
  one_.task(1, "on one", 3 * one_ms, 4 * one_ms);
  tool::trace_model const trace = merge();
  EXPECT_EQ(named(trace, "on zero").begin - named(trace, "on one").begin, hour - 2 * one_ms);
  EXPECT_EQ(named(trace, "on one").length(), 1 * one_ms);
  EXPECT_EQ(trace.origin.parts, 2u);
  EXPECT_EQ(trace.tasks, 2u);
}

// requirement: the numbers of tasks, tracks and texts of a rank mean nothing on another rank
TEST_F(MergedTraces, RanksKeepTheirNumbers) {
  for (auto const& [trace, name] : {std::pair{&zero_, std::string{"zero"}}, {&one_, "one"}}) {
    trace->task(1, "first on " + name, 1 * one_ms, 2 * one_ms);
    trace->task(2, "second on " + name, 2 * one_ms, 3 * one_ms, {1});
  }
  tool::trace_model const trace = merge();
  ASSERT_EQ(trace.arrows.size(), 2u);
  for (std::string const name : {"zero", "one"}) {
    tool::trace_slice const& second_task = named(trace, "second on " + name);
    EXPECT_EQ(trace.part_of(second_task.track), name == "one" ? "rank 1" : "rank 0");
    EXPECT_EQ(second_task.submitted, second_task.begin);
    EXPECT_TRUE(std::any_of(trace.arrows.begin(), trace.arrows.end(), [&](auto const& each) {
      return trace.slices[each.from].name == "first on " + name &&
             trace.slices[each.to].name == second_task.name;
    }));
  }
}

// requirement: tables and pictures say which rank has a device or a thread
TEST_F(MergedTraces, DevicesAndThreadsAreOfRanks) {
  zero_.task(1, "on zero", 1 * one_ms, 2 * one_ms, {}, 0);
  one_.task(1, "on one", 3 * one_ms, 4 * one_ms, {}, 0);
  tool::trace_model const trace = merge();
  std::vector<std::string> devices;
  for (tool::device_use const& each : tool::use_of_devices(trace)) {
    devices.push_back(each.device);
    EXPECT_EQ(each.busy_time(), 1 * one_ms);
  }
  EXPECT_THAT(devices,
              ::testing::ElementsAre("rank 0, device 0: a device", "rank 1, device 0: a device"));
  std::vector<std::string> threads;
  for (auto const& [id, track] : trace.tracks) {
    if (track.name == "thread 1 main") { threads.push_back(trace.part_of(id)); }
  }
  EXPECT_THAT(threads, ::testing::UnorderedElementsAre("rank 0", "rank 1"));
}

// requirement: an arrow leads from the task that sends to the task that receives
TEST_F(MergedTraces, TransfersHaveArrows) {
  std::uint64_t const arrow = dispatch::perfetto::message_flow | 5;
  one_.task(1, "before", hour, hour + 1 * one_ms);
  one_.message(2, arrow, true);
  one_.task(2, "send", hour + 1 * one_ms, hour + 2 * one_ms, {1});
  zero_.message(2, arrow, false);
  zero_.task(2, "receive", 0, 3 * one_ms);
  zero_.task(3, "after", 3 * one_ms, 4 * one_ms, {2});
  // An hour later on rank 1 is the same time on rank 0.
  tool::trace_model const trace = merge();
  std::vector<std::string> path;
  for (std::size_t const i : tool::critical_path(trace)) { path.push_back(trace.slices[i].name); }
  EXPECT_THAT(path, ::testing::ElementsAre("before", "send", "receive", "after"));
}

// error guess: because clocks are not exact, a receive may seem to end before its send begins
TEST_F(MergedTraces, ArrowsMayPointBackwards) {
  std::uint64_t const arrow = dispatch::perfetto::message_flow | 5;
  one_.message(2, arrow, true);
  one_.task(2, "send", hour + 3 * one_ms, hour + 4 * one_ms);
  zero_.message(2, arrow, false);
  zero_.task(2, "receive", 0, 3 * one_ms - 1);
  EXPECT_EQ(merge().arrows.size(), 1u);
}

// error guess: traces that do not belong together
TEST_F(MergedTraces, OtherTracesAreRefused) {
  written_trace other_run, same_rank;
  other_run.rank(2, 0, hour, 8);
  same_rank.rank(1, 0, hour);
  tool::trace_part const zero = zero_.part("zero"), one = one_.part("one");
  auto const refusal = [](std::vector<tool::trace_part> parts) -> std::string {
    try {
      tool::trace_set{std::move(parts)};
    } catch (std::runtime_error const& why) { return why.what(); }
    return "";
  };
  EXPECT_EQ(refusal({zero, one}), "");
  EXPECT_THAT(refusal({zero, one, other_run.part("other")}),
              HasSubstr("'one' and 'other' are of different runs"));
  EXPECT_THAT(refusal({one, zero, same_rank.part("same")}),
              HasSubstr("'one' and 'same' are both of rank 1"));
  std::string const bytes = tool::trace_set{{zero, one}}.merged();
  tool::trace_part const both{"both", bytes, tool::decode_trace(bytes, "both").origin};
  EXPECT_THAT(refusal({both, same_rank.part("same")}), HasSubstr("'both' was merged"));
}

// requirement: traces without answers of rank 0 are matched by the time of day, with a note
TEST(MergedFiles, TimeOfDayMatchesOtherTraces) {
  written_trace zero, one;
  one.rank(1, 0, 0);
  zero.task(1, "on zero", 1 * one_ms, 2 * one_ms);
  one.task(1, "on one", 3 * one_ms, 4 * one_ms);
  std::vector<tool::trace_part> parts{zero.part("a"), one.part("b")};
  parts[1].origin.begun = parts[0].origin.begun + one_second;
  std::ostringstream out;
  tool::trace_set{parts}.describe(out);
  EXPECT_THAT(out.str(), HasSubstr("file 1: a\nrank 1: b\nnote: 'b' has no time of rank 0"));
  tool::trace_model const trace = merged(parts);
  // Both of them begin at the begin of the encoder, which is shortly before their first task.
  std::int64_t const apart = named(trace, "on one").begin - named(trace, "on zero").begin;
  EXPECT_NEAR(static_cast<double>(apart), one_second + 2 * one_ms, one_ms);
}

}  // namespace
}  // namespace flotilla::test
