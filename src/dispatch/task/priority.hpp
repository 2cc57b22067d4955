// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Priority levels of tasks.

#include <algorithm>
#include <cstdint>

namespace flotilla::dispatch {

/// CUDA's stream priority with the opposite sign. Level 0 is the least urgent; a higher level is
/// more urgent.
using priority_level = std::uint8_t;
inline constexpr priority_level max_priority_level = 5;
inline constexpr unsigned priority_levels = max_priority_level + 1;

[[nodiscard]] constexpr priority_level level_of_priority(int priority) noexcept {
  return static_cast<priority_level>(-std::clamp(priority, -int{max_priority_level}, 0));
}
[[nodiscard]] constexpr int priority_of(priority_level level) noexcept { return -int{level}; }

}  // namespace flotilla::dispatch
