// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns a duration into a deadline.

#include <chrono>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Returns the time point `time` after now, rounded up. If the clock cannot represent it, returns
/// the latest time point. If `time` is negative, returns now.
template <class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::time_point deadline_after(
    std::chrono::duration<Rep, Period> time) {
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;
  clock::time_point const now = clock::now();
  seconds const wanted{time};
  if (wanted <= seconds::zero()) { return now; }
  // Also true if `wanted` is not a number.
  if (!(wanted < seconds{clock::time_point::max() - now})) { return clock::time_point::max(); }
  return now + std::chrono::ceil<clock::duration>(time);
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
