// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The log in C. Each test runs in a process of its own, because the log belongs to the process.

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "c_api/c_fixture.hpp"
#include "support/child.hpp"

namespace flotilla::test {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

struct kept_message {
  flotilla_log_message what;
  std::string text;
};
using kept_messages = std::vector<kept_message>;

void keep(void* user, flotilla_log_message const* message) {
  static_cast<kept_messages*>(user)->push_back({*message, message->text});
}

// requirement: the levels, their names in C++, and a level that does not exist
TEST(CLog, Levels) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::unsetenv("FLOTILLA_LOG");
    flotilla_log_level level = FLOTILLA_LOG_DEBUG;
    FLOTILLA_C_OK(flotilla_get_log_level(&level));
    EXPECT_EQ(level, FLOTILLA_LOG_WARNING);
    for (auto const [in_c, in_cxx] : {std::pair{FLOTILLA_LOG_ERROR, log_level::error},
                                      std::pair{FLOTILLA_LOG_WARNING, log_level::warning},
                                      std::pair{FLOTILLA_LOG_INFO, log_level::info},
                                      std::pair{FLOTILLA_LOG_DEBUG, log_level::debug}}) {
      FLOTILLA_C_OK(flotilla_set_log_level(in_c));
      EXPECT_EQ(current_log_level(), in_cxx);
      FLOTILLA_C_OK(flotilla_get_log_level(&level));
      EXPECT_EQ(level, in_c);
    }
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "no level 4", flotilla_set_log_level(4));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "no level -1", flotilla_set_log_level(-1));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "level", flotilla_get_log_level(nullptr));
    EXPECT_EQ(current_log_level(), log_level::debug);
  });
}

// requirement: a function gets what a message has, and null sends messages to stderr again
TEST(CLog, AFunctionGetsTheMessages) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    kept_messages all;
    FLOTILLA_C_OK(flotilla_set_log_level(FLOTILLA_LOG_INFO));
    FLOTILLA_C_OK(flotilla_set_log_handler(keep, &all));
    CaptureStderr();
    auto const before = std::chrono::system_clock::now().time_since_epoch();
    base::log(log_level::error, "one");
    base::log(log_level::info, "two", device_ordinal{3});
    base::log(log_level::debug, "not in the log");
    auto const after = std::chrono::system_clock::now().time_since_epoch();
    EXPECT_EQ(GetCapturedStderr(), "");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].text, "one");
    EXPECT_EQ(all[0].what.size, sizeof(flotilla_log_message));
    EXPECT_EQ(all[0].what.level, FLOTILLA_LOG_ERROR);
    EXPECT_EQ(all[0].what.device, -1);
    EXPECT_EQ(all[0].what.thread, static_cast<std::uint64_t>(::gettid()));
    EXPECT_EQ(all[1].text, "two");
    EXPECT_EQ(all[1].what.level, FLOTILLA_LOG_INFO);
    EXPECT_EQ(all[1].what.device, 3);
    for (kept_message const& each : all) {
      std::chrono::nanoseconds const time{static_cast<std::int64_t>(each.what.time_ns)};
      EXPECT_GE(time, before);
      EXPECT_LE(time, after);
    }
    FLOTILLA_C_OK(flotilla_set_log_handler(nullptr, nullptr));
    CaptureStderr();
    base::log(log_level::error, "three");
    EXPECT_THAT(GetCapturedStderr(), HasSubstr(": three\n"));
    EXPECT_EQ(all.size(), 2u);
  });
}

// boundary: texts that fit into the memory that needs no allocation, and longer ones
TEST(CLog, TextsEndWithAZero) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    kept_messages all;
    FLOTILLA_C_OK(flotilla_set_log_handler(keep, &all));
    for (std::size_t const length : {0u, 1u, 1022u, 1023u, 1024u, 5000u}) {
      std::string const text(length + 1, 'x');
      base::log(log_level::error, std::string_view{text}.substr(0, length));
      EXPECT_EQ(all.back().text, std::string(length, 'x'));
    }
  });
}

// error guess: an exception of the function is dropped
TEST(CLog, AFunctionMayThrow) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    FLOTILLA_C_OK(flotilla_set_log_handler(
        [](void*, flotilla_log_message const*) { throw std::runtime_error{"no"}; }, nullptr));
    CaptureStderr();
    base::log(log_level::error, "lost");
    EXPECT_EQ(GetCapturedStderr(), "");
  });
}

// requirement: messages of the threads of a runtime come too
TEST(CLog, AFunctionGetsMessagesOfRuntimes) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    struct seen {
      std::atomic<int> count{0};
      std::string text{};
    } found;
    FLOTILLA_C_OK(flotilla_set_log_handler(
        [](void* user, flotilla_log_message const* message) {
          auto& to = *static_cast<seen*>(user);
          to.text = message->text;
          ++to.count;
        },
        &found));
    flotilla_runtime const rt = make_c_runtime(FLOTILLA_AUTOMATIC, 1);
    FLOTILLA_C_OK(submit_body(
        rt, [](flotilla_task_context const&) { return 7; }, nullptr, nullptr));
    FLOTILLA_C_OK(flotilla_runtime_destroy(rt));
    EXPECT_EQ(found.count, 1);
    EXPECT_THAT(found.text, HasSubstr("a posted task failed"));
  });
}

}  // namespace
}  // namespace flotilla::test
