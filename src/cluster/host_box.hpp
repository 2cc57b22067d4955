// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on the host that a transfer reads or writes.

#include <cstddef>

#include <flotilla/detail/data_use.hpp>

#include "dispatch/device/host_rows.hpp"

namespace flotilla::cluster_ranks {

/// Rows of objects, which may have gaps between them. On the way they have none.
struct host_box {
  dispatch::host_rows rows{};
  std::size_t bytes = 0;  // without the gaps; 0 for a token
  std::size_t object_bytes = 1;

  [[nodiscard]] bool is_dense() const noexcept {
    bool const has_one_row = bytes == rows.width;
    bool const has_one_plane = bytes == rows.width * rows.height;
    return (has_one_row || rows.pitch.row == rows.width) &&
           (has_one_plane || rows.pitch.plane == rows.width * rows.height);
  }
  void copy_to(std::byte* to) const noexcept {
    if (bytes != 0) { rows.copy_to(to, 0, bytes); }
  }
  void copy_from(std::byte const* from) const noexcept {
    if (bytes != 0) { rows.copy_from(from, 0, bytes); }
  }
  void combine(detail::reduction const& how, std::byte const* from) const {
    // The operation is code of the program and may throw; host_rows::for_each_run must not.
    for (std::size_t at = 0; at < bytes; at += rows.width) {
      std::size_t const row = at / rows.width;
      how.combine(
          rows.first + row / rows.height * rows.pitch.plane + row % rows.height * rows.pitch.row,
          from + at, rows.width / object_bytes);
    }
  }
};

}  // namespace flotilla::cluster_ranks
