#pragma once
// Waiting for what must come, without guessing how long it takes.

#include <chrono>
#include <thread>

#include <flotilla/runtime.hpp>

namespace flotilla::test {

/// Longer than anything takes that works, also under a sanitizer on a loaded machine.
inline constexpr std::chrono::seconds patience{60};

/// Whether `condition` comes true while this thread only looks: somebody else has to do it.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
  auto const end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) { return false; }
    std::this_thread::yield();
  }
  return true;
}

/// The same while this thread pumps: nobody else needs to do anything.
template <class Condition>
[[nodiscard]] bool pumping(runtime& rt, Condition condition) {
  return eventually([&] {
    if (condition()) { return true; }
    rt.pump();
    return condition();
  });
}

/// Whether the task ended in time, well or badly.
[[nodiscard]] inline bool ended(ticket const& task) {
  try {
    return task.wait_for(patience);
  } catch (...) {
    return true;  // badly: its error came out
  }
}

}  // namespace flotilla::test
