// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Processes that end at unusual times, threads that end, and plug-ins that are unloaded. More ends
// of processes are in tests/contract/process_end_test.cpp and fork_test.cpp.

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

constexpr int exit_status = 7;

class Endings : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

runtime_options options(int workers) { return {.devices = device_spec(1), .workers = workers}; }

/// Destroyed after the static objects of flotilla's functions, because it was constructed earlier.
std::unique_ptr<runtime> destroyed_late;

void post_some(runtime& rt) {
  for (int i = 0; i < 200; ++i) {
    rt.post([](task_context&) { std::this_thread::sleep_for(std::chrono::microseconds{100}); });
  }
}

[[noreturn]] void exit_in_a_host_task(int workers) {
  static runtime rt{options(workers)};
  rt.submit(host_task([] { std::exit(exit_status); })).wait();
  std::abort();
}

[[noreturn]] void quick_exit_with_tasks_open(int workers) {
  runtime rt{options(workers)};
  post_some(rt);
  std::quick_exit(exit_status);
}

[[noreturn]] void quick_exit_in_a_callable(int workers) {
  runtime rt{options(workers)};
  post_some(rt);
  rt.submit([](task_context&) { std::quick_exit(exit_status); }).wait();
  std::abort();
}

[[noreturn]] void exit_before_a_late_destructor(int workers) {
  destroyed_late = std::make_unique<runtime>(options(workers));
  post_some(*destroyed_late);
  std::exit(exit_status);
}

// error guess: a host task calls std::exit
TEST_F(Endings, AHostTaskMayExit) {
  if (sanitized) { GTEST_SKIP() << "std::exit destroys static objects while other threads run"; }
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(exit_in_a_host_task(workers), ::testing::ExitedWithCode(exit_status), "abandoned");
  }
}

// error guess: std::quick_exit runs no destructors, but handlers of std::at_quick_exit
TEST_F(Endings, QuickExitDoesNotHang) {
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(quick_exit_with_tasks_open(workers), ::testing::ExitedWithCode(exit_status), "");
    EXPECT_EXIT(quick_exit_in_a_callable(workers), ::testing::ExitedWithCode(exit_status), "");
  }
}

// error guess: a runtime is destroyed after the static objects of the driver
TEST_F(Endings, ARuntimeMayBeDestroyedLate) {
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(exit_before_a_late_destructor(workers), ::testing::ExitedWithCode(exit_status), "");
  }
}

// requirement: threads may end while their inboxes are full of tasks
TEST_F(Endings, ThreadsMayEndWithFullInboxes) {
  for (int const workers : {0, 1}) {
    std::atomic<int> ran{0}, submitted{0};
    {
      auto with = options(workers);
      with.window = 64;
      runtime rt{with};
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < 64; ++i) {
            if (rt.try_submit([&](task_context&) { ++ran; }, {.device = device_ordinal{0}})) {
              ++submitted;
            }
          }
        });
      }
      threads.clear();
    }
    EXPECT_EQ(ran, submitted);
    EXPECT_GE(ran, 64);
  }
}

// requirement: runtimes may exist one after another and at the same time, also on many threads
TEST_F(Endings, RuntimesComeAndGo) {
  std::atomic<int> ran{0};
  std::array<std::jthread, 2> threads;
  for (std::jthread& each : threads) {
    each = std::jthread{[&] {
      for (int i = 0; i < 3; ++i) {
        runtime one{options(1)}, other{options(0)};
        one.post([&](task_context&) { ++ran; });
        other.post([&](task_context&) { ++ran; });
      }
    }};
  }
  for (std::jthread& each : threads) { each.join(); }
  EXPECT_EQ(ran, 12);
}

/// Loads a plug-in, lets it run tasks, and unloads it, several times.
void use_plugin(char const* path) {
  for (int i = 0; i < 3; ++i) {
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    auto const run = reinterpret_cast<int (*)()>(::dlsym(library, "run_tasks"));
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run(), 100);
    // A thread that has used the plug-in ends after the call of dlclose.
    latch used, unloaded;
    std::jthread const other{[&] {
      EXPECT_EQ(run(), 100);
      used.open();
      unloaded.wait();
    }};
    used.wait();
    EXPECT_EQ(::dlclose(library), 0);
    unloaded.open();
  }
}

// error guess: a program unloads a plug-in that uses flotilla, and goes on
TEST_F(Endings, PluginsMayBeUnloaded) {
  for (char const* const path : {FLOTILLA_SHARED_PLUGIN, FLOTILLA_STATIC_PLUGIN}) {
    FLOTILLA_EXPECT_IN_CHILD([path] { use_plugin(path); });
  }
}

}  // namespace
}  // namespace flotilla::test
