// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program that knows nothing of flotilla unloads a plug-in that keeps a runtime, or ends with it.
// dlclose holds the lock of the dynamic loader while it destroys the runtime.

#include <unistd.h>

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "support/guest_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

constexpr int plugin_status = 7;

[[noreturn]] void run_host(char const* plugin, char const* function, char const* where,
                           char const* end) {
  ::alarm(sanitized ? 100 : 50);
  ::execl(FLOTILLA_PLUGIN_HOST, "host", plugin, function, where, end, nullptr);
  ::_exit(99);
}

class PluginEnd : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (sanitized) { GTEST_SKIP() << "a program without a sanitizer loads the plug-ins"; }
  }
  static void expect_quiet_end(char const* end) {
    for (char const* const plugin : {FLOTILLA_SHARED_PLUGIN, FLOTILLA_STATIC_PLUGIN}) {
      for (char const* const function :
           {"keep_idle_runtime", "keep_busy_runtime", "keep_busy_runtime_without_workers",
            "keep_unused_runtime", "keep_runtime_of_thread"}) {
        for (char const* const where : {"main", "thread"}) {
          SCOPED_TRACE(std::string{plugin} + ' ' + function + ' ' + where);
          // The errors of posted tasks that are lost at the end of the process are printed. A
          // plug-in that contains the static library is unloaded only then.
          bool const lasts =
              end == std::string{"keep"} || plugin == std::string_view{FLOTILLA_STATIC_PLUGIN};
          bool const loses_tasks = lasts && std::string{function}.starts_with("keep_busy");
          ::testing::Matcher<std::string const&> const said =
              loses_tasks ? ::testing::Matcher<std::string const&>{::testing::_}
                          : ::testing::IsEmpty();
          EXPECT_EXIT(run_host(plugin, function, where, end),
                      ::testing::ExitedWithCode(plugin_status), said);
        }
      }
    }
  }
};

// regression: dlclose never returned. The destructor of the runtime waited for the thread of a CPU
// device, which waited for the lock of the dynamic loader
TEST_F(PluginEnd, UnloadingAPluginDestroysItsRuntime) { expect_quiet_end("close"); }

// regression: a runtime in a global object printed an error for each device when the process ended
TEST_F(PluginEnd, AProcessMayEndWithAPluginThatKeepsARuntime) { expect_quiet_end("keep"); }

}  // namespace
}  // namespace flotilla::test
