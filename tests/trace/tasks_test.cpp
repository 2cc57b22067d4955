// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which tasks and arrows are in a trace.

#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <tuple>

#include <flotilla/task/bulk.hpp>
#include <flotilla/task/host_task.hpp>

#include "trace_fixture.hpp"

namespace flotilla::test {
namespace {

class Trace : public traced_test {};
FLOTILLA_TRACED(Trace);

// requirement
TEST_P(Trace, EveryTaskAppearsOnce) {
  constexpr int tasks = 3000;
  trace writing{rt(), {.file = file()}};
  for (int i = 0; i < tasks; ++i) {
    rt().post(nothing(),
              {.device = ordinals()[i % ordinals().size()], .label = "task " + std::to_string(i)});
  }
  rt().wait_idle();
  trace_summary const summary = writing.end();
  EXPECT_EQ(summary.tasks, tasks);
  EXPECT_EQ(summary.dropped, 0u);
  EXPECT_EQ(summary.unfinished, 0u);
  EXPECT_EQ(summary.bytes, std::filesystem::file_size(file()));
  auto const read_back = read();
  auto const found = by_name(read_back);
  EXPECT_EQ(found.size(), static_cast<std::size_t>(tasks));
  for (int i = 0; i < tasks; ++i) {
    auto const one = found.find("task " + std::to_string(i));
    ASSERT_NE(one, found.end()) << i;
    tool::trace_slice const& slice = one->second;
    EXPECT_EQ(slice.kernel, "nothing");
    EXPECT_EQ(read_back.above(slice.track, "device ").substr(0, 8),
              "device " + std::to_string(i % ordinals().size()));
  }
  for (auto const& [name, slice] : found) {
    EXPECT_EQ(slice.submitted + static_cast<std::int64_t>(slice.value("queue_ns")), slice.begin);
    EXPECT_LE(slice.begin, slice.end);
    EXPECT_LE(static_cast<std::int64_t>(slice.value("run_ns")), slice.length());
  }
}

// requirement: the tasks of several threads, with and without labels
TEST_P(Trace, TasksOfAllThreadsAppear) {
  if (worker_count() == 0) { GTEST_SKIP() << "single-threaded mode"; }
  constexpr int threads = 4;
  constexpr int tasks = 500;
  static_cast<void>(program());
  trace writing{rt(), {.file = file()}};
  std::vector<std::thread> submitting;
  for (int t = 0; t < threads; ++t) {
    submitting.emplace_back([&] {
      for (int i = 0; i < tasks; ++i) { rt().post(nothing()); }
    });
  }
  for (std::thread& each : submitting) { each.join(); }
  rt().wait_idle();
  EXPECT_EQ(writing.end().tasks, threads * tasks);
  auto const read_back = read();
  EXPECT_EQ(std::count_if(
                read_back.slices.begin(), read_back.slices.end(),
                [](auto const& each) { return each.category == "task" && each.name == "nothing"; }),
            threads * tasks);
}

// requirement: the arrows are the predecessors, of any number, on any device
TEST_P(Trace, ArrowsAreThePredecessors) {
  constexpr int tasks = 300;
  std::mt19937 random{17};
  std::vector<ticket> tickets;
  std::set<std::pair<std::string, std::string>> expected;
  trace writing{rt(), {.file = file()}};
  for (int i = 0; i < tasks; ++i) {
    task_options how{.device = ordinals()[random() % ordinals().size()]};
    std::string const label = "t" + std::to_string(i);
    std::set<int> ahead;
    for (unsigned left = i == 0 ? 0 : random() % 8; left > 0; --left) {
      ahead.insert(std::max(0, i - 1 - static_cast<int>(random() % 40)));
    }
    if (i == 0) { ahead.clear(); }
    for (int const each : ahead) {
      how.after.add(tickets[static_cast<std::size_t>(each)]);
      expected.emplace("t" + std::to_string(each), label);
    }
    how.label = label;
    tickets.push_back(rt().submit(nothing(), how));
  }
  for (ticket& each : tickets) { each.wait(); }
  EXPECT_EQ(writing.end().tasks, tasks);
  EXPECT_EQ(arrows_of(read()), expected);
}

// requirement: every kind of task has a slice with its own name
TEST_P(Trace, CopiesCallablesAndHostTasksAppear) {
  std::vector<std::uint32_t> values(1000);
  device_buffer<std::uint32_t> buffer{rt(), last(), values};
  host_buffer<std::uint32_t> pinned{rt(), 1000};
  device_buffer<std::uint32_t> other{rt(), first(), values};
  trace writing{rt(), {.file = file()}};
  ticket const up = rt().submit(buffer.copy_from(values), {.label = "up"});
  ticket const across = rt().submit(other.copy_from(buffer), {.label = "across", .after = {up}});
  ticket const down = rt().submit(other.copy_to(pinned), {.label = "down", .after = {across}});
  ticket const pageable =
      rt().submit(other.copy_to(values), {.label = "pageable", .after = {down}});
  ticket const fill = rt().submit(other.fill(3u), {.label = "fill", .after = {pageable}});
  ticket const call =
      rt().submit(callable{[](task_context&) {}}, {.label = "call", .after = {fill}});
  ticket const host = rt().submit(host_task([] {}), {.label = "host", .after = {call}});
  host.wait();
  writing.end();
  auto const read_back = read();
  auto const found = by_name(read_back);
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found.at("up").kernel, "copy from host");
  EXPECT_EQ(found.at("up").value("bytes"), 4000u);
  EXPECT_EQ(found.at("across").kernel,
            device_count() == 1 ? "copy within device"
                                : "copy from device " + std::to_string(device_count() - 1));
  EXPECT_EQ(found.at("down").kernel, "copy to host");
  EXPECT_EQ(found.at("pageable").kernel, "copy to host");
  EXPECT_EQ(found.at("fill").kernel, "fill");
  EXPECT_EQ(found.at("call").kernel, "callable");
  EXPECT_EQ(found.at("host").kernel, "host task");
  std::set<std::pair<std::string, std::string>> const chain{
      {"up", "across"},     {"across", "down"}, {"down", "pageable"},
      {"pageable", "fill"}, {"fill", "call"},   {"call", "host"}};
  EXPECT_EQ(arrows_of(read_back), chain);
}

// requirement: a task that fails, and its successors, are marked
TEST_P(Trace, FailedTasksAreMarked) {
  trace writing{rt(), {.file = file()}};
  ticket const bad = rt().submit(refused_launch(program()), {.device = first(), .label = "bad"});
  ticket const next = rt().submit(nothing(), {.device = first(), .label = "next", .after = {bad}});
  rt().submit(nothing(), {.device = first(), .label = "good"}).wait();
  EXPECT_THROW(next.wait(), dependency_failed);
  EXPECT_THROW(bad.wait(), driver_error);
  writing.end();
  auto const read_back = read();
  auto const found = by_name(read_back);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at("bad").value("failed"), 1u);
  EXPECT_EQ(found.at("next").value("failed"), 1u);
  EXPECT_EQ(found.at("good").value("failed"), 0u);
  EXPECT_EQ(arrows_of(read_back), (std::set<std::pair<std::string, std::string>>{{"bad", "next"}}));
}

// requirement: the items of a bulk appear, as chunks or as single tasks, and the bulk itself
TEST_P(Trace, BulksAppear) {
  constexpr std::uint32_t items = 5000;
  device_buffer<std::uint32_t> words{rt(), first(), std::vector<std::uint32_t>(items)};
  auto const kernel = program().add.with_shape({1}, {1});
  // The kernel is measured first, so that later bulks may be chunks.
  for (int i = 0; i < 100; ++i) { rt().submit(kernel(words.subspan(0, 1), 1u)).wait(); }
  trace writing{rt(), {.file = file()}};
  rt().submit(bulk(kernel, items,
                   [&](std::size_t i) {
                     return std::tuple{words.subspan(i, 1), 1u};
                   }))
      .wait();
  writing.end();
  std::uint64_t counted = 0;
  std::uint64_t bulks = 0;
  for (tool::trace_slice const& each : read().slices) {
    if (each.category != "task") { continue; }
    if (each.name == "bulk") {
      ++bulks;
    } else {
      EXPECT_EQ(each.name, "add_to");
      counted += std::max<std::uint64_t>(each.value("items"), 1);
    }
  }
  EXPECT_EQ(counted, items);
  EXPECT_EQ(bulks, 1u);
}

// requirement: replays appear as one task for each of their graphs
TEST_P(Trace, ReplaysAppear) {
  recording steps{rt()};
  auto const one = steps.add(nothing(), {.device = first()});
  static_cast<void>(steps.add(nothing(), {.device = first(), .after = {one}}));
  steps.finish();
  trace writing{rt(), {.file = file()}};
  steps.replay({.label = "replayed"}).wait();
  EXPECT_EQ(writing.end().tasks, 1u);
  EXPECT_EQ(by_name(read()).count("replayed"), 1u);
}

// requirement: one task of `every` is in the trace, and all batches are
TEST_P(Trace, SampledTraceHasAPartOfTheTasks) {
  constexpr int tasks = 8000;
  trace writing{rt(), {.file = file(), .every = 10}};
  for (int i = 0; i < tasks; ++i) { rt().post(nothing(), {.device = first()}); }
  rt().wait_idle();
  std::uint64_t const traced = writing.end().tasks;
  EXPECT_GT(traced, tasks / 20u);
  EXPECT_LT(traced, tasks / 5u);
  auto const read_back = read();
  EXPECT_EQ(read_back.every, 10u);
  std::uint64_t in_batches = 0;
  std::uint64_t alone = 0;
  for (tool::trace_slice const& each : read_back.slices) {
    if (each.category == "batch") { in_batches += each.value("tasks"); }
    alone += each.category == "task" ? 1 : 0;
  }
  EXPECT_LE(in_batches, static_cast<std::uint64_t>(tasks));
  EXPECT_GE(in_batches + alone, static_cast<std::uint64_t>(tasks));
}

// requirement: a trace of some tasks has the arrows between tasks that follow each other
TEST_P(Trace, SampledTraceHasArrows) {
  constexpr int tasks = 4000;
  trace writing{rt(), {.file = file(), .every = 4}};
  ticket before;
  for (int i = 0; i < tasks; ++i) {
    std::string const label = "t" + std::to_string(i);
    task_options how{.device = first(), .label = label};
    if (i != 0) { how.after.add(before); }
    before = rt().submit(nothing(), how);
  }
  before.wait();
  std::uint64_t const traced = writing.end().tasks;
  auto const arrows = arrows_of(read());
  EXPECT_GT(traced, tasks / 8u);
  EXPECT_LT(traced, tasks / 2u);
  // Without groups, about one arrow of four would have both of its tasks.
  EXPECT_GT(arrows.size(), traced / 2);
  for (auto const& [from, to] : arrows) {
    EXPECT_EQ(std::stoi(from.substr(1)) + 1, std::stoi(to.substr(1)));
  }
}

// requirement: tasks submitted before a trace are not in it
TEST_P(Trace, OnlyTasksWithinTheTraceAppear) {
  held_word hold{rt()};
  ticket const before =
      rt().submit(hold.launch_of(program()), {.device = last(), .label = "before"});
  trace writing{rt(), {.file = file()}};
  ticket const open =
      rt().submit(nothing(), {.device = last(), .label = "open", .after = {before}});
  rt().post(nothing(), {.device = first(), .label = "inside"});
  if (device_count() > 1) {
    rt().submit(nothing(), {.device = first(), .label = "done"}).wait();
    trace_summary const summary = writing.end();
    EXPECT_EQ(summary.unfinished, 1u);
    auto const found = by_name(read());
    EXPECT_EQ(found.count("before"), 0u);
    EXPECT_EQ(found.count("done"), 1u);
  }
  hold.release();
  open.wait();
}

// requirement: counters and the periods of driving threads are plausible
TEST_P(Trace, CountersArePlausible) {
  constexpr std::size_t words = 100'000;
  trace writing{rt(), {.file = file()}};
  device_buffer<std::uint32_t> const buffer{rt(), first(), std::vector<std::uint32_t>(words)};
  for (int i = 0; i < 2000; ++i) { rt().post(nothing(), {.device = first()}); }
  rt().wait_idle();
  writing.end();
  auto const read_back = read();
  std::set<std::string> names;
  for (auto const& [track, samples] : read_back.counters) {
    tool::trace_track const& of = read_back.tracks.at(track);
    EXPECT_TRUE(of.is_counter);
    names.insert(of.name);
    std::int64_t greatest = 0;
    for (auto const& each : samples) {
      EXPECT_GE(each.value, 0) << of.name;
      greatest = std::max(greatest, each.value);
    }
    bool const is_first = read_back.tracks.at(of.parent).name.rfind("device 0", 0) == 0;
    if (of.name == "memory of buffers" && is_first) {
      EXPECT_EQ(greatest, static_cast<std::int64_t>(words * sizeof(std::uint32_t)));
    }
    if (of.name != "memory of buffers") { EXPECT_LE(greatest, 2000 + 1) << of.name; }
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"queued tasks", "launches in flight", "memory of buffers"}));
  EXPECT_TRUE(std::any_of(read_back.slices.begin(), read_back.slices.end(), [](auto const& each) {
    return each.category == "drive" && each.name == "drive device 0";
  }));
}

}  // namespace
}  // namespace flotilla::test
