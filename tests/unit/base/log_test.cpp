// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/error/error.hpp>
#include <flotilla/runtime.hpp>

#include "support/child.hpp"
#include "support/thrown.hpp"

namespace flotilla::base {
namespace {

using test::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

/// Writes one message of each level.
void write_all() {
  log(log_level::error, "one");
  log(log_level::warning, "two", device_ordinal{3});
  log_format(log_level::info, "three %d", 3);
  log(log_level::debug, "four");
}

std::string written(std::string const& environment) {
  ::unsetenv("FLOTILLA_LOG");
  if (!environment.empty()) { ::setenv("FLOTILLA_LOG", environment.c_str(), 1); }
  CaptureStderr();
  write_all();
  return GetCapturedStderr();
}

// requirement: by default the log has errors and warnings, in the form that flotilla always had
TEST(Log, TheDefaultIsWarning) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_EQ(written(""), "flotilla: one\nflotilla: two\n");
    EXPECT_EQ(current_log_level(), log_level::warning);
  });
}

// requirement: each line has time, level, thread and device
TEST(Log, TheEnvironmentSetsTheLevelAndTheForm) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::string const time = "flotilla: [0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9]+ ";
    std::string const thread = ", thread " + std::to_string(::gettid());
    EXPECT_THAT(written("debug"),
                MatchesRegex(time + "error" + thread + ": one\n" + time + "warning" + thread +
                             ", device 3: two\n" + time + "info" + thread + ": three 3\n" + time +
                             "debug" + thread + ": four\n"));
    EXPECT_TRUE(is_logged(log_level::debug));
  });
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_THAT(written("error"), HasSubstr(": one\n"));
    EXPECT_FALSE(is_logged(log_level::warning));
  });
}

// requirement: bad values are refused by name
TEST(Log, ARuntimeRefusesAWrongLevel) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_EQ(written("loud"), "flotilla: one\nflotilla: two\n");
    EXPECT_EQ(test::thrown<unknown_setting>([] { runtime const rt{{.devices = "cpu"}}; }),
              "environment variable FLOTILLA_LOG: 'loud' is not a level of the log; the levels are "
              "error, warning, info, debug");
  });
  FLOTILLA_EXPECT_IN_CHILD([] {
    EXPECT_EQ(written(""), "flotilla: one\nflotilla: two\n") << "an empty value counts as none";
    runtime const rt{{.devices = "cpu"}};
  });
  EXPECT_THROW(static_cast<void>(parse_log_level("")), unknown_setting);
  EXPECT_THROW(static_cast<void>(parse_log_level("Error")), unknown_setting);
  EXPECT_EQ(parse_log_level("info"), log_level::info);
  EXPECT_EQ(to_string(log_level::debug), "debug");
}

// requirement
TEST(Log, AHandlerGetsTheMessages) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    struct kept {
      log_level level;
      std::string text;
      std::optional<device_ordinal> device;
      std::uint64_t thread;
    };
    std::vector<kept> all;
    set_log_level(log_level::info);
    set_log_handler([&](log_message const& each) {
      all.push_back({each.level, std::string{each.text}, each.device, each.thread});
    });
    EXPECT_EQ(written("error"), "");  // the level of the program overrides the environment
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[1].level, log_level::warning);
    EXPECT_EQ(all[1].text, "two");
    EXPECT_EQ(all[1].device, device_ordinal{3});
    EXPECT_EQ(all[2].text, "three 3");
    EXPECT_EQ(all[2].device, std::nullopt);
    EXPECT_EQ(all[2].thread, static_cast<std::uint64_t>(::gettid()));
    set_log_handler([](log_message const&) { throw 1; });
    EXPECT_EQ(written(""), "");  // dropped, and not an end of the program
    set_log_handler({});
    EXPECT_THAT(written(""), HasSubstr(": one\n"));
  });
}

// requirement: what the user asked for is written at every level
TEST(Log, ExplanationsAreAlwaysWritten) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    set_log_level(log_level::error);
    CaptureStderr();
    explain("why");
    EXPECT_THAT(GetCapturedStderr(), HasSubstr(": why\n"));
  });
}

// boundary: longer than the memory that needs no allocation
TEST(Log, LongTexts) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::unsetenv("FLOTILLA_LOG");
    for (std::size_t const length : {1022u, 1023u, 1024u, 5000u}) {
      CaptureStderr();
      std::string const text(length, 'x');
      log_format(log_level::error, "%s", text.c_str());
      EXPECT_EQ(GetCapturedStderr(), "flotilla: " + text + "\n");
    }
  });
}

// stress: lines do not mix, and handlers can change
TEST(Log, ThreadsWriteAtTheSameTime) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::atomic<int> count{0};
    std::vector<std::thread> threads;
    set_log_handler([&](log_message const&) { ++count; });
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int k = 0; k < 200; ++k) {
          if (i == 0) {
            set_log_handler([&](log_message const&) { ++count; });
          }
          log(log_level::error, "x");
        }
      });
    }
    for (std::thread& each : threads) { each.join(); }
    EXPECT_EQ(count.load(), 800);
  });
}

}  // namespace
}  // namespace flotilla::base
