// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The predecessors of a task that have not ended.

#include <algorithm>
#include <span>
#include <vector>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Several predecessors in one lane or in one open batch count as one, so a task with a thousand
/// predecessors has few entries.
struct unended_predecessors {
  std::vector<end_mark> launched;  // at most one for each lane: the last mark
  std::vector<batch_place> open;   // the open batches of this device that contain predecessors
  // The same of other devices that this thread drives (joint_waves).
  std::vector<place_elsewhere> elsewhere;

  void clear() noexcept {
    launched.clear();
    open.clear();
    elsewhere.clear();
  }
  [[nodiscard]] bool any_open() const noexcept { return !open.empty() || !elsewhere.empty(); }
  void add_launched(end_mark mark) { add_mark(launched, mark); }
  void add_open(batch_place place) {
    // The last entry is the most likely one.
    if (std::find(open.rbegin(), open.rend(), place) == open.rend()) { open.push_back(place); }
  }
  void add_elsewhere(place_elsewhere const& place) {
    if (std::find(elsewhere.rbegin(), elsewhere.rend(), place) == elsewhere.rend()) {
      elsewhere.push_back(place);
    }
  }
  /// Adds `mark` to marks of which each lane has at most one.
  static void add_mark(std::vector<end_mark>& marks, end_mark mark) {
    auto const same_lane = std::find_if(marks.rbegin(), marks.rend(), [mark](end_mark each) {
      return each.device() == mark.device() && each.lane() == mark.lane();
    });
    if (same_lane == marks.rend()) {
      marks.push_back(mark);
    } else if (same_lane->number() < mark.number()) {
      *same_lane = mark;
    }
  }
};

/// Returns whether one of the marks is of another device than `device`.
[[nodiscard]] inline bool any_elsewhere(std::span<end_mark const> marks, unsigned device) noexcept {
  return std::ranges::any_of(marks, [device](end_mark mark) { return mark.device() != device; });
}

}  // namespace flotilla::dispatch
