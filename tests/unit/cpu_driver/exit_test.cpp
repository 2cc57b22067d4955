// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What happens when a process that uses the driver ends. Each case runs in a new process.
#include "driver_test.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace flotilla::cpu_driver {
namespace {

/// Calls the driver from a destructor that runs after the driver was destroyed.
struct late_caller {
  ~late_caller() {
    CUcontext made = nullptr;
    std::size_t bytes = 0;
    bool const refused = cu::cuInit(0) == CUDA_ERROR_DEINITIALIZED &&
                         cu::cuCtxCreate_v2(&made, 0, 0) == CUDA_ERROR_DEINITIALIZED &&
                         cu::cuMemGetInfo(&bytes, &bytes) == CUDA_ERROR_DEINITIALIZED &&
                         cu::cuCtxPopCurrent(nullptr) == CUDA_ERROR_DEINITIALIZED;
    std::_Exit(refused ? 42 : 1);
  }
};

class ExitTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void end_with_work_pending() {
  static late_caller const late;  // constructed before the driver, so destroyed after the driver
  CUcontext context = nullptr;
  CUstream held = nullptr;
  void* word = nullptr;
  if (cu::cuInit(0) || cu::cuCtxCreate_v2(&context, 0, 0) || cu::cuMemHostAlloc(&word, 4, 0) ||
      cu::cuStreamCreate(&held, CU_STREAM_NON_BLOCKING)) {
    std::_Exit(2);
  }
  *static_cast<std::uint32_t*>(word) = 0;
  cu::cuStreamWaitValue32(held, address_of(word), 1, CU_STREAM_WAIT_VALUE_EQ);
  std::exit(0);
}

TEST_F(ExitTest, PendingWorkDoesNotDelayTheExitAndLateCallsReturn) {
  EXPECT_EXIT(end_with_work_pending(), ::testing::ExitedWithCode(42), "");
}

[[noreturn]] void end_from_a_host_function() {
  CUcontext context = nullptr;
  if (cu::cuInit(0) || cu::cuCtxCreate_v2(&context, 0, 0)) { std::_Exit(2); }
  cu::cuLaunchHostFunc(
      nullptr, [](void*) { std::exit(43); }, nullptr);
  for (;;) { std::this_thread::yield(); }
}

// error guess: the device thread itself ends the process. Then the driver must not wait for that
// thread.
TEST_F(ExitTest, AHostFunctionMayEndTheProcess) {
  EXPECT_EXIT(end_from_a_host_function(), ::testing::ExitedWithCode(43), "");
}

[[noreturn]] void fork_after_initialisation() {
  if (cu::cuInit(0)) { std::_Exit(2); }
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    CUcontext made = nullptr;
    bool const refused = cu::cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                         cu::cuCtxCreate_v2(&made, 0, 0) == CUDA_ERROR_NOT_INITIALIZED;
    // `exit` runs handlers that the child has inherited. They must not wait for the parent's
    // threads.
    std::exit(refused ? 45 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

// regression: a child of fork() could create contexts, but they had no device thread. At its exit,
// the child waited for the device thread of its parent.
TEST_F(ExitTest, AChildOfForkCannotUseAnInheritedDriver) {
  EXPECT_EXIT(fork_after_initialisation(), ::testing::ExitedWithCode(45), "");
}

TEST_F(ExitTest, BeforeInitialisationEverythingButNamesIsRefused) {
  EXPECT_EXIT(
      {
        CUcontext found = nullptr;
        int version = 0;
        bool const right = cu::cuCtxGetCurrent(&found) == CUDA_ERROR_NOT_INITIALIZED &&
                           cu::cuStreamQuery(nullptr) == CUDA_ERROR_NOT_INITIALIZED &&
                           cu::cuDriverGetVersion(&version) == CUDA_SUCCESS;
        std::_Exit(right ? 44 : 1);
      },
      ::testing::ExitedWithCode(44), "");
}

[[noreturn]] void initialise_with(char const* variable, char const* value) {
  ::setenv(variable, value, 1);
  CUresult const status = cu::cuInit(0);
  char reason[256] = "";
  control().start_error(reason, sizeof reason);
  std::fputs(reason, stderr);
  int count = 0;
  cu::cuDeviceGetCount(&count);
  std::_Exit(status == CUDA_SUCCESS ? count : 99);
}

TEST_F(ExitTest, TheEnvironmentIsReadAtInitialisation) {
  EXPECT_EXIT(initialise_with("FLOTILLA_DEVICES", "cpu:6"), ::testing::ExitedWithCode(6), "");
  EXPECT_EXIT(initialise_with("FLOTILLA_DEVICES", "cpu:3/green:16*2"), ::testing::ExitedWithCode(3),
              "");
  EXPECT_EXIT(initialise_with("FLOTILLA_DEVICES", "cpu:none"), ::testing::ExitedWithCode(99),
              "FLOTILLA_DEVICES=cpu:none");
  EXPECT_EXIT(initialise_with("FLOTILLA_CPU_INJECT", "fail=cuNope@1:1"),
              ::testing::ExitedWithCode(99), "FLOTILLA_CPU_INJECT: .*cuNope");
}

}  // namespace
}  // namespace flotilla::cpu_driver
