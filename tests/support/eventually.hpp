#pragma once
// Waiting for a condition with a deadline, instead of sleeping for a guessed time.

#include <chrono>
#include <thread>

#include <flotilla/runtime.hpp>

namespace flotilla::test {

/// More than any correct test needs, also under a sanitizer on a loaded machine.
inline constexpr std::chrono::seconds test_timeout{60};

/// Polls `condition`; other threads have to make it true. @return false after `test_timeout`.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
  auto const end = std::chrono::steady_clock::now() + test_timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) { return false; }
    std::this_thread::yield();
  }
  return true;
}

/// The same, but pumps `rt` between the polls: no other thread needs to do anything.
template <class Condition>
[[nodiscard]] bool pumping(runtime& rt, Condition condition) {
  return eventually([&] {
    if (condition()) { return true; }
    rt.pump();
    return condition();
  });
}

/// Whether the task ended before `test_timeout`, with a result or an error.
[[nodiscard]] inline bool ended(ticket const& task) {
  try {
    return task.wait_for(test_timeout);
  } catch (...) {
    return true;  // it ended with an error, which the wait rethrew
  }
}

}  // namespace flotilla::test
