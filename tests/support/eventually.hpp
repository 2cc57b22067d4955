// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits for a condition with a deadline. Tests use this instead of sleeping for a guessed time.

#include <chrono>
#include <thread>

#include <flotilla/runtime.hpp>

namespace flotilla::test {

/// Longer than a wait in any correct test, even with a sanitizer on a loaded machine.
inline constexpr std::chrono::seconds test_timeout{60};

/// Polls `condition`, which other threads must make true.
/// @return true as soon as `condition` is true, false after `test_timeout`.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
  auto const end = std::chrono::steady_clock::now() + test_timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) { return false; }
    std::this_thread::yield();
  }
  return true;
}

/// Like `eventually`, but pumps `rt` between the polls. Works without any other thread.
template <class Condition>
[[nodiscard]] bool pumping(runtime& rt, Condition condition) {
  return eventually([&] {
    if (condition()) { return true; }
    rt.pump();
    return condition();
  });
}

/// Waits for the task. @return whether the task ended within `test_timeout`, with or without an
/// error.
[[nodiscard]] inline bool ended(ticket const& task) {
  try {
    return task.wait_for(test_timeout);
  } catch (...) {
    return true;  // the task ended with an error, which the wait rethrew
  }
}

}  // namespace flotilla::test
