// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/fork_guard.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

namespace flotilla::base {

constinit std::atomic<std::uint32_t> detail::forks{0};

namespace {

void count_fork() noexcept { detail::forks.fetch_add(1, std::memory_order_relaxed); }

// Registered when the library is loaded, before any object of the library can exist.
[[maybe_unused]] int const registered = ::pthread_atfork(nullptr, nullptr, &count_fork);

}  // namespace

void detail::end_child(char const* what) noexcept {
  std::fprintf(
      stderr,
      "flotilla: %s has returned in a child of fork(). The child has none of the runtime's "
      "threads and cannot go on: in the child, call exec or _exit instead of returning\n",
      what);
  std::abort();
}

}  // namespace flotilla::base
