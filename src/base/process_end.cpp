// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/process_end.hpp"

#include <dlfcn.h>
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
thread_local constinit bool never_yields = false;

void note_end(int status, void*) noexcept {
  if (ending.load(std::memory_order_relaxed)) { return; }  // another handler has noted it
  ending_thread = ::pthread_self();
  exit_status = status;
  ending.store(true, std::memory_order_release);  // pairs with the acquire loads below
}

/// Makes dlclose leave the library, or the plug-in that contains it, in memory.
void keep_loaded() noexcept {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&note_end), &here) == 0 || here.dli_fname == nullptr) {
    return;
  }
  // Fails for a program that contains the library, which stays loaded anyway.
  static_cast<void>(::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace

void watch_process_end() noexcept {
  static bool const kept = (keep_loaded(), true);
  static_cast<void>(kept);
  // If there is no memory for the handler, the process may end as if there were none.
  static_cast<void>(::on_exit(&note_end, nullptr));
}

bool this_thread_ends_process() noexcept {
  return ending.load(std::memory_order_acquire) &&
         ::pthread_equal(ending_thread, ::pthread_self()) != 0;
}

void never_yield_to_process_end(bool never) noexcept { never_yields = never; }

void finish_process_end() noexcept {
  if (!this_thread_ends_process()) { return; }
  std::fflush(nullptr);
  ::_exit(exit_status);
}

void yield_to_process_end() noexcept {
  if (never_yields || !ending.load(std::memory_order_acquire) || this_thread_ends_process()) {
    return;
  }
  std::this_thread::sleep_for(max_sleep);
}

}  // namespace flotilla::base
