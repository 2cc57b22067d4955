// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The extents of data, and where their objects are in memory.

#include <array>
#include <cstddef>
#include <span>

#include <flotilla/detail/memory_command.hpp>

namespace flotilla::flows {

/// Planes, rows and columns. Missing dimensions have one plane, and one row.
using triple = std::array<std::size_t, 3>;

/// Returns the extents of an array of one to three dimensions as a triple.
[[nodiscard]] inline triple triple_of(std::span<std::size_t const> extents) noexcept {
  triple made{1, 1, 1};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    made[made.size() - extents.size() + i] = extents[i];
  }
  return made;
}

/// The shape of an array whose objects are in row-major order.
struct datum_shape {
  std::size_t object_bytes = 0;  // 0 for a token
  triple extents{1, 1, 1};
  int rank = 1;

  [[nodiscard]] std::size_t row_bytes() const noexcept { return extents[2] * object_bytes; }
  [[nodiscard]] std::size_t bytes() const noexcept { return extents[0] * extents[1] * row_bytes(); }
  /// Returns the pitch of memory without gaps.
  [[nodiscard]] detail::memory_pitch dense() const noexcept {
    return {row_bytes(), extents[1] * row_bytes()};
  }
  /// Replaces distances that do not matter, because there is one row or plane, by those of memory
  /// without gaps.
  [[nodiscard]] detail::memory_pitch normalized(detail::memory_pitch const& pitch) const noexcept {
    return {extents[1] == 1 ? dense().row : pitch.row,
            extents[0] == 1 ? dense().plane : pitch.plane};
  }
  /// Returns how far the object with the index `at` is behind the first one.
  [[nodiscard]] std::size_t offset(triple const& at,
                                   detail::memory_pitch const& pitch) const noexcept {
    return at[0] * pitch.plane + at[1] * pitch.row + at[2] * object_bytes;
  }
};

}  // namespace flotilla::flows
