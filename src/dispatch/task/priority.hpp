#pragma once
// How urgent a task is.

#include <algorithm>
#include <cstdint>

namespace flotilla::dispatch {

/// CUDA's stream priority with its sign turned: 0 is the least, and more is sooner.
using urgency = std::uint8_t;
inline constexpr urgency most_urgent = 5;
inline constexpr unsigned urgencies = most_urgent + 1;

[[nodiscard]] constexpr urgency urgency_of(int priority) noexcept {
  return static_cast<urgency>(-std::clamp(priority, -int{most_urgent}, 0));
}
[[nodiscard]] constexpr int priority_of(urgency level) noexcept { return -int{level}; }

}  // namespace flotilla::dispatch
