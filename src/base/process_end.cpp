// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/process_end.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace flotilla::base {

namespace {

constexpr std::chrono::seconds max_sleep{2};

constinit std::atomic<bool> ending{false};
// The next two variables are written before `ending` is set.
pthread_t ending_thread;
int exit_status = 0;

void note_end(int status, void*) noexcept {
  ending_thread = ::pthread_self();
  exit_status = status;
  ending.store(true, std::memory_order_release);  // pairs with the acquire loads below
}

}  // namespace

void watch_process_end() {
  static int const registered = ::on_exit(&note_end, nullptr);
  static_cast<void>(registered);
}

void finish_process_end() noexcept {
  if (!ending.load(std::memory_order_acquire) ||
      ::pthread_equal(ending_thread, ::pthread_self()) == 0) {
    return;
  }
  std::fflush(nullptr);
  ::_exit(exit_status);
}

void yield_to_process_end() noexcept {
  if (!ending.load(std::memory_order_acquire) ||
      ::pthread_equal(ending_thread, ::pthread_self()) != 0) {
    return;
  }
  std::this_thread::sleep_for(max_sleep);
}

}  // namespace flotilla::base
