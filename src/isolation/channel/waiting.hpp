// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the two ends of a channel wait for each other: they poll for a short time, and then sleep.

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <thread>

#include "base/pause.hpp"

namespace flotilla::isolated {

/// Sleeps while the word has this value, but not longer than `milliseconds`. May return early.
inline void sleep_on(std::atomic<std::uint32_t> const& word, std::uint32_t value,
                     long milliseconds) noexcept {
  timespec const limit{milliseconds / 1000, milliseconds % 1000 * 1000000};
  // Not FUTEX_PRIVATE_FLAG, because two processes share the word.
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

inline void wake(std::atomic<std::uint32_t> const& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

/// Polls a condition. On a machine with few processors the other end needs this processor, so the
/// poller yields early.
/// @return false  The condition did not hold for about 50 us (or 20 yields).
template <class Condition>
[[nodiscard]] bool poll(Condition const& holds) noexcept {
  static unsigned const processors = std::thread::hardware_concurrency();
  int const pauses = processors > 4 ? 1500 : 40;
  for (int i = 0; i < pauses; ++i) {
    if (holds()) { return true; }
    base::pause();
  }
  for (int i = 0; i < 20; ++i) {
    if (holds()) { return true; }
    ::sched_yield();
  }
  return holds();
}

}  // namespace flotilla::isolated
