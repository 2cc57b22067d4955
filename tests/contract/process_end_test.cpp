// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The end of a process whose runtime has open tasks. Each case runs in a separate process.

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"

namespace flotilla::test {
namespace {

constexpr int status = 7;

class ProcessEnd : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "std::exit destroys static objects while other threads run; ThreadSanitizer "
                    "reports that for the C++ library and for oneTBB, too";
#endif
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

runtime_options options(int workers) { return {.devices = device_spec(1), .workers = workers}; }

[[noreturn]] void never() {
  while (true) { std::this_thread::sleep_for(std::chrono::seconds{1}); }
}

[[noreturn]] void exit_in_a_callable_of_a_static_runtime(int workers) {
  static runtime rt{options(workers)};
  rt.submit([](task_context&) { std::exit(status); }).wait();
  never();
}

[[noreturn]] void exit_in_a_continuation_of_a_static_runtime(int workers) {
  static runtime rt{options(workers)};
  rt.submit([](task_context&) {}).then([](std::exception_ptr) { std::exit(status); });
  rt.wait_idle();
  never();
}

[[noreturn]] void exit_in_a_callable_of_an_automatic_runtime(int workers) {
  runtime rt{options(workers)};
  rt.submit([](task_context&) { std::exit(status); }).wait();
  never();
}

[[noreturn]] void exit_while_another_thread_waits(int workers) {
  runtime rt{options(workers)};
  std::thread{[] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    std::exit(status);
  }}.detach();
  while (true) {
    rt.submit([](task_context&) {}).wait();
  }
}

[[noreturn]] void exit_with_tasks_open(int workers) {
  // Never destroyed, as in a program that keeps its runtime until the end.
  static auto* const rt = new runtime{options(workers)};
  for (int i = 0; i < 1000; ++i) {
    rt->post([](task_context&) { std::this_thread::sleep_for(std::chrono::milliseconds{1}); });
  }
  std::exit(status);
}

// regression: if a callable called std::exit, the destructor of a static runtime waited forever for
// this callable
TEST_F(ProcessEnd, ACallableMayEndIt) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(exit_in_a_callable_of_a_static_runtime(workers), ::testing::ExitedWithCode(status),
                "abandoned");
    EXPECT_EXIT(exit_in_a_callable_of_an_automatic_runtime(workers),
                ::testing::ExitedWithCode(status), "");
  }
}

// regression: if a continuation called std::exit, the destructor of a static runtime waited for
// this continuation. If the continuation ran on a worker, the process then crashed in oneTBB's
// destructors
TEST_F(ProcessEnd, AContinuationMayEndIt) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(exit_in_a_continuation_of_a_static_runtime(workers),
                ::testing::ExitedWithCode(status), "abandoned");
  }
}

// regression: when the driver shut down, a waiting thread threw `poisoned`, which terminated the
// process
TEST_F(ProcessEnd, AThreadThatWaitsDoesNotTerminateIt) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(exit_while_another_thread_waits(workers), ::testing::ExitedWithCode(status), "");
  }
}

// requirement: a runtime that is never destroyed does not disturb the end of the process
TEST_F(ProcessEnd, OpenTasksDoNotDisturbIt) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 1}) {
    EXPECT_EXIT(exit_with_tasks_open(workers), ::testing::ExitedWithCode(status), "");
  }
}

}  // namespace
}  // namespace flotilla::test
