// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A plug-in of a program that knows nothing of flotilla.

#include <atomic>
#include <exception>

#include <flotilla/flotilla.hpp>

/// Runs tasks on two CPU devices, with workers, continuations and a deadline.
/// @return the number of tasks that ran, or -1 after an error.
extern "C" __attribute__((visibility("default"))) int run_tasks() {
  try {
    flotilla::runtime rt{{.devices = "cpu:2"}};
    std::atomic<int> ran{0};
    for (int i = 0; i < 50; ++i) {
      rt.submit([&](flotilla::task_context&) { ++ran; },
                {.deadline = std::chrono::steady_clock::now() + std::chrono::hours{1}})
          .then([&](std::exception_ptr) { ++ran; });
    }
    rt.wait_idle();
    return ran;
  } catch (std::exception const&) { return -1; }
}
