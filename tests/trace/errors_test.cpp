// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How traces begin, end and fail.

#include <unistd.h>

#include <fstream>
#include <optional>
#include <thread>

#include "trace_fixture.hpp"

namespace flotilla::test {
namespace {

class TraceErrors : public traced_test {};
FLOTILLA_TRACED(TraceErrors);

// error guess
TEST_P(TraceErrors, BadOptionsAreRefused) {
  EXPECT_THAT((thrown<invalid_argument>([&] { trace{rt(), {}}; })), HasSubstr("file is empty"));
  EXPECT_THAT((thrown<invalid_argument>([&] {
                trace{rt(), {.file = file(), .every = 0}};
              })),
              HasSubstr("every must be at least 1"));
  EXPECT_THAT((thrown<invalid_argument>([&] {
                trace{rt(), {.file = file(), .memory = 1000}};
              })),
              AllOf(HasSubstr("memory must be at least"), HasSubstr("1000")));
  EXPECT_THAT((thrown<trace_failed>([&] {
                trace{rt(), {.file = "missing/folder/x.pftrace"}};
              })),
              AllOf(HasSubstr("missing/folder/x.pftrace"), HasSubstr("No such file")));
  trace writing{rt(), {.file = file()}};  // after refusals, a trace can begin
  EXPECT_EQ(writing.end().tasks, 0u);
}

// requirement: a runtime has one trace at a time
TEST_P(TraceErrors, SecondTraceIsRefusedUntilTheFirstEnds) {
  trace writing{rt(), {.file = file()}};
  std::string const other = file().string() + ".2";
  EXPECT_THAT((thrown<trace_failed>([&] {
                trace{rt(), {.file = other}};
              })),
              AllOf(HasSubstr(other), HasSubstr(file().string()), HasSubstr("end that trace")));
  EXPECT_FALSE(std::filesystem::exists(other));
  writing.end();
  rt().submit(nothing()).wait();
  trace again{rt(), {.file = file()}};
  rt().submit(nothing()).wait();
  EXPECT_EQ(again.end().tasks, 1u) << "only the task of the second trace";
  EXPECT_EQ(again.end().tasks, 1u) << "the second call of end returns the same";
  EXPECT_EQ(writing.end().tasks, 0u);
}

// requirement: a full disk ends the trace, but no task
TEST_P(TraceErrors, FullDiskEndsOnlyTheTrace) {
  trace writing{rt(), {.file = "/dev/full"}};
  for (int i = 0; i < 100; ++i) { rt().submit(nothing()).wait(); }
  EXPECT_THAT((thrown<trace_failed>([&] { writing.end(); })),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  EXPECT_THAT((thrown<trace_failed>([&] { writing.end(); })), HasSubstr("/dev/full"));
  rt().submit(nothing()).wait();
  trace again{rt(), {.file = file()}};
  rt().submit(nothing()).wait();
  EXPECT_EQ(again.end().tasks, 1u);
}

// requirement: if the runtime ends first, the file is complete
TEST_P(TraceErrors, RuntimeEndsTheTrace) {
  std::optional<trace> writing{std::in_place, rt(), trace_options{.file = file()}};
  for (int i = 0; i < 100; ++i) { rt().post(nothing()); }
  stop();
  EXPECT_EQ(writing->end().tasks, 100u);
  EXPECT_EQ(read().tasks, 100u);
  writing.reset();
}

// requirement: the destructor and the move assignment end a trace
TEST_P(TraceErrors, DestructionEndsTheTrace) {
  {
    trace writing{rt(), {.file = file()}};
    rt().submit(nothing()).wait();
    trace moved = std::move(writing);
  }
  EXPECT_EQ(read().tasks, 1u);
}

// requirement: what finds no room is counted, and the rest of the trace is good
TEST_P(TraceErrors, DroppedEventsAreCounted) {
  // The threads that drive need one buffer each, and there is memory for one. In single-threaded
  // mode only one thread drives, and the test has nothing to check.
  if (worker_count() != 2) { GTEST_SKIP() << "needs two workers"; }
  static_cast<void>(program());
  trace writing{rt(), {.file = file(), .memory = std::size_t{8} << 20}};
  constexpr int tasks = 4000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < tasks / 4; ++i) {
        // A lone task is driven by the thread that waits for it.
        rt().submit(nothing(), {.device = ordinals()[static_cast<std::size_t>(t) % 2]}).wait();
      }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  rt().wait_idle();
  trace_summary const summary = writing.end();
  auto const read_back = read();
  EXPECT_EQ(read_back.tasks, summary.tasks);
  EXPECT_EQ(read_back.dropped, summary.dropped);
  EXPECT_EQ(summary.unfinished, 0u);
  EXPECT_LE(summary.tasks, static_cast<std::uint64_t>(tasks));
  EXPECT_GE(summary.tasks + summary.dropped, static_cast<std::uint64_t>(tasks));
  EXPECT_GT(summary.dropped, 0u);
  EXPECT_EQ(std::count_if(read_back.slices.begin(), read_back.slices.end(),
                          [](auto const& each) { return each.category == "task"; }),
            static_cast<std::ptrdiff_t>(summary.tasks));
}

// stress: traces that begin and end while threads submit and drive
TEST_P(TraceErrors, TracesBeginAndEndDuringAFlood) {
  if (worker_count() == 0) { GTEST_SKIP() << "single-threaded mode"; }
  static_cast<void>(program());
  std::atomic<bool> stop_now{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop_now.load()) {
        for (int i = 0; i < 64; ++i) { rt().post(nothing()); }
        rt().submit(nothing()).wait();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    trace writing{rt(), {.file = file(), .every = i % 2 == 0 ? 1u : 7u}};
    std::this_thread::sleep_for(std::chrono::milliseconds{3});  // the tasks need some time
    trace_summary const summary = writing.end();
    EXPECT_EQ(read().tasks, summary.tasks);
  }
  stop_now.store(true);
  for (std::thread& each : threads) { each.join(); }
}

}  // namespace
}  // namespace flotilla::test
