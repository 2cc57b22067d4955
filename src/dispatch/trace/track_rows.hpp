// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows on which slices lie that overlap.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flotilla::dispatch {

/// Slices of one track must not overlap, unless one contains the other. So slices that overlap get
/// tracks of their own, the rows. Each slice goes to the first row that is free.
class track_rows {
 public:
  struct row {
    std::uint64_t track = 0;  // 0: new; the caller sets it
    std::int64_t end = 0;     // of the last slice
  };

  /// Returns the row of a slice.
  [[nodiscard]] row& take(std::int64_t begin, std::int64_t end) {
    // The tasks of a batch have the same times, so the rows before the last one are not free. But
    // slices without a length fit on one row.
    bool const is_beside_last = begin == last_begin_ && end == last_end_ && begin != end;
    std::size_t next = is_beside_last ? next_ : 0;
    while (next < rows_.size() && rows_[next].end > begin) { ++next; }
    if (next == rows_.size()) { rows_.emplace_back(); }
    last_begin_ = begin;
    last_end_ = end;
    next_ = next + 1;
    rows_[next].end = end;
    return rows_[next];
  }

 private:
  std::vector<row> rows_;
  std::int64_t last_begin_ = -1;
  std::int64_t last_end_ = -1;
  std::size_t next_ = 0;
};

}  // namespace flotilla::dispatch
