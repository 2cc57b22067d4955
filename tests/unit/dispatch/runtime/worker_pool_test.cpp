// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The worker pool in an application that leaves no oneTBB thread for workers.

#include <flotilla/flotilla.hpp>

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "support/guest_test.hpp"
#include "support/tbb_threads.hpp"

namespace flotilla::test {
namespace {

class WorkerPool : public guest_test {};

// regression: closing a runtime leaked the jobs that oneTBB had not begun
TEST_F(WorkerPool, LosesNothingThatOneTbbNeverBegan) {
  parallelism const none_but_the_caller{1};
  for (int i = 0; i < 8; ++i) {
    runtime rt{{.devices = "cpu:1", .workers = 2}};
    rt.submit([](task_context&) {}).wait();
  }
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
#else
  GTEST_SKIP() << "only a leak checker can check this: build with FLOTILLA_SANITIZE=address";
#endif
}

}  // namespace
}  // namespace flotilla::test
