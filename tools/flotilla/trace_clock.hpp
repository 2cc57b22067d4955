// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the times of a trace relate to a clock that several traces share.

#include <cstdint>
#include <vector>

#include "trace_model.hpp"

namespace tool {

/// Converts the times of a trace to a common clock. Clocks drift, so the difference is measured
/// from time to time, and is a straight line between two measurements.
class trace_clock {
 public:
  /// @param answers  Of rank 0, in the order of their times; at least one.
  explicit trace_clock(std::vector<clock_answer> const& answers);
  /// @param begin  The time on the common clock at which the trace begins.
  explicit trace_clock(std::int64_t begin) : points_{{0, begin}} {}

  [[nodiscard]] std::int64_t operator()(std::int64_t when) const;
  /// Returns by how much the measurements may be wrong, in nanoseconds.
  [[nodiscard]] std::int64_t max_error() const noexcept { return max_error_; }

 private:
  struct point {
    std::int64_t when;
    std::int64_t ahead;  // of the common clock
  };
  std::vector<point> points_;  // in the order of their times
  std::int64_t max_error_ = 0;
};

}  // namespace tool
