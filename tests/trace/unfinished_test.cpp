// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks that are open when a trace ends.

#include <unistd.h>

#include <atomic>
#include <sstream>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/launch_gate.hpp"
#include "support/scale.hpp"
#include "trace_fixture.hpp"
#include "trace_report.hpp"

namespace flotilla::test {
namespace {

class TraceOpenTasks : public traced_test {
 protected:
  /// Lets the tasks be launched that can be.
  void pump_until_started(held_word const& word) {
    EXPECT_TRUE(eventually([&] {
      rt().pump();
      return word.started();
    }));
    for (int i = 0; i < 3; ++i) { rt().pump(); }
  }
  [[nodiscard]] static std::string report_of(tool::trace_model const& trace) {
    std::ostringstream out;
    tool::print_report(out, trace, "file", 10);
    return out.str();
  }
};
FLOTILLA_TRACED(TraceOpenTasks);

// requirement: a task that runs at the end of the trace has a slice from its launch to the end of
// the trace, and tasks that wait for it have slices without a length. All of them are marked
TEST_P(TraceOpenTasks, RunningAndWaitingTasksAreMarked) {
  held_word hold{rt()};
  trace writing{rt(), {.file = file()}};
  rt().submit(nothing(), {.device = first(), .label = "done"}).wait();
  ticket const running =
      rt().submit(hold.launch_of(program()), {.device = last(), .label = "running"});
  pump_until_started(hold);
  ticket const waiting = rt().submit(callable{[](task_context&) {}},
                                     {.device = first(), .label = "waiting", .after = {running}});
  for (int i = 0; i < 3; ++i) { rt().pump(); }
  trace_summary const summary = writing.end();
  EXPECT_EQ(summary.tasks, 1u);
  EXPECT_EQ(summary.unfinished, 2u);
  EXPECT_EQ(summary.dropped, 0u);
  auto const read_back = read();
  auto const found = by_name(read_back);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at("done").value("unfinished"), 0u);
  tool::trace_slice const& open = found.at("running");
  EXPECT_EQ(open.value("unfinished"), 1u);
  EXPECT_EQ(open.value("failed"), 0u);
  EXPECT_EQ(open.kernel, "hold_until");
  EXPECT_EQ(open.submitted + static_cast<std::int64_t>(open.value("queue_ns")), open.begin);
  EXPECT_GT(open.length(), 0);
  EXPECT_GT(open.value("run_ns"), 0u);
  EXPECT_LE(static_cast<std::int64_t>(open.value("run_ns")), open.length());
  EXPECT_GE(open.end, found.at("done").end);
  tool::trace_slice const& late = found.at("waiting");
  EXPECT_EQ(late.value("unfinished"), 1u);
  EXPECT_GE(late.end, open.begin);
  EXPECT_EQ(arrows_of(read_back),
            (std::set<std::pair<std::string, std::string>>{{"running", "waiting"}}));
  EXPECT_THAT(
      report_of(read_back),
      AllOf(HasSubstr("file: 1 task\n"),
            HasSubstr("note: 2 tasks had not ended when the trace ended; 2 of them are in"),
            HasSubstr("running (hold_until), unfinished"), HasSubstr("critical path: 1 task")));
  hold.release();
  waiting.wait();
}

// requirement: the end of a task after its trace is not in the next trace
TEST_P(TraceOpenTasks, NextTraceHasNothingOfThem) {
  held_word hold{rt()};
  trace writing{rt(), {.file = file()}};
  ticket const running =
      rt().submit(hold.launch_of(program()), {.device = first(), .label = "running"});
  pump_until_started(hold);
  EXPECT_EQ(writing.end().unfinished, 1u);
  trace next{rt(), {.file = file()}};
  hold.release();
  running.wait();
  rt().submit(nothing(), {.device = first(), .label = "next"}).wait();
  trace_summary const summary = next.end();
  EXPECT_EQ(summary.tasks, 1u);
  EXPECT_EQ(summary.unfinished, 0u);
  auto const found = by_name(read());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.count("next"), 1u);
}

// requirement: a task that was cancelled has ended, even if its predecessor still runs
TEST_P(TraceOpenTasks, CancelledTaskHasEnded) {
  trace writing{rt(), {.file = file()}};
  launch_gate gate{rt(), program(), first()};  // a fill, a held kernel, and a kernel behind it
  ticket const late = rt().submit(callable{[](task_context&) {}},
                                  {.device = first(), .label = "late", .after = {gate.gate()}});
  EXPECT_TRUE(late.cancel());
  EXPECT_THROW(late.wait(), task_cancelled);
  trace_summary const summary = writing.end();
  EXPECT_EQ(summary.tasks + summary.unfinished, 4u);
  EXPECT_GE(summary.unfinished, 2u);
  auto const found = by_name(read());
  ASSERT_EQ(found.count("late"), 1u);
  EXPECT_EQ(found.at("late").value("failed"), 1u);
  EXPECT_EQ(found.at("late").value("unfinished"), 0u);
  gate.open();
  gate.gate().wait();
}

// boundary: a limited number of open tasks is drawn, and those without a length share a row
TEST_P(TraceOpenTasks, ManyOpenTasks) {
  constexpr std::size_t tasks = 3000;
  held_word hold{rt()};
  trace writing{rt(), {.file = file()}};
  ticket const running = rt().submit(hold.launch_of(program()), {.device = first()});
  pump_until_started(hold);
  for (std::size_t i = 0; i < tasks; ++i) {
    rt().post(callable{[](task_context&) {}}, {.device = first(), .after = {running}});
  }
  for (int i = 0; i < 3; ++i) { rt().pump(); }
  EXPECT_EQ(writing.end().unfinished, tasks + 1);
  auto const read_back = read();
  std::size_t drawn = 0;
  std::size_t without_length = 0;
  std::set<std::uint64_t> tracks;  // of those without a length
  for (tool::trace_slice const& each : read_back.slices) {
    if (each.value("unfinished") == 0) { continue; }
    ++drawn;
    if (each.length() != 0) { continue; }
    ++without_length;
    tracks.insert(each.track);
  }
  EXPECT_EQ(drawn, 1000u);
  EXPECT_GT(without_length, 100u);
  EXPECT_EQ(tracks.size(), 1u);
  EXPECT_THAT(report_of(read_back), HasSubstr("3001 tasks had not ended when the trace ended; 1000 "
                                              "of them are in the trace"));
  hold.release();
  rt().wait_idle();
}

// requirement: a trace can end inside a callable, and while another thread runs one
TEST_P(TraceOpenTasks, TraceEndsWhileACallableRuns) {
  trace writing{rt(), {.file = file()}};
  trace_summary inside;
  rt().submit(callable{[&](task_context&) { inside = writing.end(); }}, {.label = "ends"}).wait();
  EXPECT_EQ(inside.unfinished, 1u);
  auto const found = by_name(read());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("ends").value("unfinished"), 1u);
  if (worker_count() == 0) { return; }
  latch entered;
  latch leave;
  trace next{rt(), {.file = file()}};
  ticket const running = rt().submit(callable{[&](task_context&) {
    entered.open();
    leave.wait();
  }});
  entered.wait();
  trace_summary const summary = next.end();
  EXPECT_EQ(summary.tasks, 0u);
  EXPECT_EQ(summary.unfinished, 1u);
  // The thread inside the callable drives the device, so nothing can read the task.
  EXPECT_THAT(report_of(read()), HasSubstr("1 task had not ended when the trace ended; 0 of them"));
  leave.open();
  running.wait();  // the callable uses the latches
}

// stress: traces that end while threads submit and cancel. Each task is there at most once
TEST_P(TraceOpenTasks, TracesEndWhileThreadsSubmit) {
  if (worker_count() == 0) { GTEST_SKIP() << "single-threaded mode"; }
  constexpr int threads = 3;
  static_cast<void>(program());
  std::atomic<bool> has_ended{false};
  std::vector<std::thread> submitting;
  for (int t = 0; t < threads; ++t) {
    submitting.emplace_back([&, t] {
      ticket before;
      for (int i = 0; !has_ended; ++i) {
        std::string const label = std::to_string(t) + "." + std::to_string(i);
        task_options how{.device = ordinals()[i % ordinals().size()], .label = label};
        if (i % 4 != 0) { how.after_end.add(before); }
        before = i % 3 == 0 ? rt().submit(callable{[](task_context&) {}}, how)
                            : rt().submit(nothing(), how);
        if (i % 5 == 0) { static_cast<void>(before.cancel()); }
      }
    });
  }
  std::uint64_t unfinished = 0;
  for (int i = 0; i < (sanitized ? 5 : 20); ++i) {
    trace writing{rt(), {.file = file()}};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    trace_summary const summary = writing.end();
    unfinished += summary.unfinished;
    std::size_t drawn = 0;
    for (auto const& [name, slice] : by_name(read())) {
      drawn += slice.value("unfinished") != 0 ? 1 : 0;
    }
    EXPECT_LE(drawn, summary.unfinished);
  }
  has_ended = true;
  for (std::thread& each : submitting) { each.join(); }
  rt().wait_idle();
  RecordProperty("unfinished", std::to_string(unfinished));
}

}  // namespace
}  // namespace flotilla::test
