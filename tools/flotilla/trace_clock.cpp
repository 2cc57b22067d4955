// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_clock.hpp"

#include <algorithm>
#include <iterator>

namespace tool {

trace_clock::trace_clock(std::vector<clock_answer> const& answers) {
  // A rank asks several times in a few milliseconds, and again after a second.
  constexpr std::int64_t max_together_ns = 500'000'000;
  for (auto first = answers.begin(); first != answers.end();) {
    // Rank 0 read its clock after the question and before the answer. So each answer bounds the
    // difference on both sides. The closest bounds may come from different answers.
    std::int64_t low = INT64_MIN, high = INT64_MAX;
    auto each = first;
    for (; each != answers.end() && each->answered - first->answered < max_together_ns; ++each) {
      low = std::max(low, each->there - each->answered);
      high = std::min(high, each->there - each->asked);
    }
    std::int64_t const middle = first->asked + (std::prev(each)->answered - first->asked) / 2;
    points_.push_back({middle, low + (high - low) / 2});
    // If the clocks drift fast, the bounds may contradict each other.
    max_error_ = std::max(max_error_, std::max(high - low, low - high) / 2);
    first = each;
  }
}

std::int64_t trace_clock::operator()(std::int64_t when) const {
  auto const next =
      std::upper_bound(points_.begin(), points_.end(), when,
                       [](std::int64_t at, point const& one) { return at < one.when; });
  if (next == points_.begin()) { return when + next->ahead; }
  point const& before = *std::prev(next);
  if (next == points_.end()) { return when + before.ahead; }
  double const part =
      static_cast<double>(when - before.when) / static_cast<double>(next->when - before.when);
  auto const change = part * static_cast<double>(next->ahead - before.ahead);
  return when + before.ahead + static_cast<std::int64_t>(change);
}

}  // namespace tool
