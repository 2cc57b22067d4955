// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A plug-in of a program that knows nothing of flotilla.

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>

#include <flotilla/flotilla.hpp>

#include PLUGIN_KERNELS_HEADER

namespace {

// Destroyed when the plug-in is unloaded, or when the process ends.
std::unique_ptr<flotilla::runtime> kept;
std::atomic<int> kept_ran{0};

void keep(int workers) {
  kept = std::make_unique<flotilla::runtime>(
      flotilla::runtime_options{.devices = "cpu:2",
                                .workers = workers,
                                .report_calls_longer_than = std::chrono::milliseconds{0}});
}

/// Posts kernels, callables and continuations, and waits for none of them.
void post_some() {
  auto const nothing = kept->load(PLUGIN_KERNELS).kernel(PLUGIN_KERNELS.nothing);
  for (int i = 0; i < 200; ++i) {
    kept->post(nothing.over(1000)());
    kept->post([](flotilla::task_context&) { ++kept_ran; });
    kept->submit(nothing.over(1)()).then([](std::exception_ptr) { ++kept_ran; });
  }
}

}  // namespace

#define PLUGIN_FUNCTION extern "C" __attribute__((visibility("default")))

PLUGIN_FUNCTION void keep_idle_runtime() {
  keep(flotilla::runtime_options::automatic);
  post_some();
  kept->wait_idle();
}
PLUGIN_FUNCTION void keep_busy_runtime() {
  keep(flotilla::runtime_options::automatic);
  post_some();
}
PLUGIN_FUNCTION void keep_busy_runtime_without_workers() {
  keep(0);
  post_some();
}
PLUGIN_FUNCTION void keep_unused_runtime() { keep(1); }
/// A holder of the thread that calls, and not of the plug-in.
PLUGIN_FUNCTION void keep_runtime_of_thread() {
  static thread_local std::unique_ptr<flotilla::runtime> of_thread;
  keep(1);
  post_some();
  of_thread = std::move(kept);
}

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
