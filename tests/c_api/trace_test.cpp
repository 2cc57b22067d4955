// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Traces of the C interface. tests/trace checks what is in the files.

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CTrace : public c_api_test {
 protected:
  void SetUp() override {
    c_api_test::SetUp();
    file_ = (std::filesystem::temp_directory_path() /
             ("flotilla_c_trace_" + std::to_string(::getpid()) + ".pftrace"))
                .string();
    options_.file = file_.c_str();
  }
  void TearDown() override {
    std::filesystem::remove(file_);
    c_api_test::TearDown();
  }
  std::string file_;
  flotilla_trace_options options_ = FLOTILLA_TRACE_OPTIONS_INIT;
};
FLOTILLA_C_API(CTrace);

int do_nothing(void* /*user*/, flotilla_task_context const* /*context*/) { return 0; }

// requirement
TEST_P(CTrace, TraceHasTheTasksBetweenBeginAndEnd) {
  flotilla_trace trace{};
  flotilla_trace_summary summary = FLOTILLA_TRACE_SUMMARY_INIT;
  FLOTILLA_C_OK(flotilla_trace_begin(rt, &options_, &trace));
  for (int i = 0; i < 20; ++i) {
    FLOTILLA_C_OK(flotilla_submit_function(rt, do_nothing, nullptr, nullptr, nullptr, nullptr));
  }
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  FLOTILLA_C_OK(flotilla_trace_end(trace, &summary));
  EXPECT_EQ(summary.size, sizeof summary);
  EXPECT_EQ(summary.tasks, 20u);
  EXPECT_EQ(summary.dropped, 0u);
  EXPECT_EQ(summary.unfinished, 0u);
  EXPECT_EQ(summary.bytes, std::filesystem::file_size(file_));
  // Another trace may begin now. The summary may be null.
  options_.memory = std::size_t{16} << 20;
  options_.every = 100;
  FLOTILLA_C_OK(flotilla_trace_begin(rt, &options_, &trace));
  FLOTILLA_C_OK(flotilla_trace_end(trace, nullptr));
}

// error guess
TEST_P(CTrace, BadArgumentsAreRefused) {
  flotilla_trace trace{7};
  flotilla_trace_options bad = options_;
  auto const begin = [&] { return flotilla_trace_begin(rt, &bad, &trace); };
  bad.file = nullptr;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "options->file", begin());
  EXPECT_EQ(trace.id, 0u);
  bad.file = "";
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "file is empty", begin());
  bad = options_;
  bad.size = sizeof bad - 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_trace_options", begin());
  bad = options_;
  bad.every = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "every", begin());
  bad = options_;
  bad.memory = 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "memory", begin());
  bad = options_;
  bad.file = "/missing/folder/trace";
  FLOTILLA_C_FAILS(FLOTILLA_TRACE_FAILED, "/missing/folder/trace", begin());
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "options", flotilla_trace_begin(rt, nullptr, &trace));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "made", flotilla_trace_begin(rt, &options_, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "expected a runtime",
                   flotilla_trace_begin({0}, &options_, &trace));
}

// error guess: a trace ends once, and a bad summary leaves it alone
TEST_P(CTrace, TraceEndsOnce) {
  flotilla_trace trace{}, second{};
  flotilla_trace_summary summary = FLOTILLA_TRACE_SUMMARY_INIT;
  FLOTILLA_C_OK(flotilla_trace_begin(rt, &options_, &trace));
  FLOTILLA_C_FAILS(FLOTILLA_TRACE_FAILED, "already writes",
                   flotilla_trace_begin(rt, &options_, &second));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "traces", flotilla_runtime_destroy(rt));
  summary.size = 8;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_trace_summary",
                   flotilla_trace_end(trace, &summary));
  FLOTILLA_C_OK(flotilla_trace_end(trace, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "does not exist any more",
                   flotilla_trace_end(trace, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "names a runtime",
                   flotilla_trace_end({rt.id}, nullptr));
}

// error guess
TEST_P(CTrace, FullDiskIsAnErrorOfTheTrace) {
  flotilla_trace trace{};
  options_.file = "/dev/full";
  FLOTILLA_C_OK(flotilla_trace_begin(rt, &options_, &trace));
  FLOTILLA_C_FAILS(FLOTILLA_TRACE_FAILED, "/dev/full", flotilla_trace_end(trace, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "does not exist any more",
                   flotilla_trace_end(trace, nullptr));
}

// requirement: every struct of options can grow, because it begins with its size
TEST(CStructs, BeginWithTheirSize) {
  EXPECT_EQ(offsetof(flotilla_runtime_options, size), 0u);
  EXPECT_EQ(offsetof(flotilla_task_options, size), 0u);
  EXPECT_EQ(offsetof(flotilla_recorded_options, size), 0u);
  EXPECT_EQ(offsetof(flotilla_replay_options, size), 0u);
  EXPECT_EQ(offsetof(flotilla_flow_options, size), 0u);
  EXPECT_EQ(offsetof(flotilla_trace_options, size), 0u);
  EXPECT_EQ(offsetof(flotilla_reduction, size), 0u);
}

}  // namespace
}  // namespace flotilla::test
