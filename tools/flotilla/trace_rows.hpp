// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of the picture of a trace.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace_model.hpp"

namespace tool {

struct trace_row {
  std::string label;
  int depth = 0;  // below how many other rows it is
  /// Whether the row sums up the tracks instead of showing their slices.
  bool is_sum = false;
  std::size_t tracks = 0;
};

/// One row for each track with slices, below rows for its parents. Slices that overlap are on
/// several tracks of one name, so a trace can have thousands of tracks. If there are too many, each
/// name keeps its first rows, and a last row "N more" sums up the others.
struct trace_rows {
  std::vector<trace_row> rows;
  std::map<std::uint64_t, std::size_t> of_track;  // indices of rows

  /// Returns the row of a track; null if the row sums up several tracks, or if there is none.
  [[nodiscard]] trace_row const* own(std::uint64_t track) const {
    auto const found = of_track.find(track);
    if (found == of_track.end() || rows[found->second].is_sum) { return nullptr; }
    return &rows[found->second];
  }
};

/// @param max_rows  At least 1.
[[nodiscard]] trace_rows lay_out_rows(trace_model const& trace, std::size_t max_rows);

}  // namespace tool
