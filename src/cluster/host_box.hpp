// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on the host that a transfer reads or writes.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/detail/memory_command.hpp>

namespace flotilla::cluster_ranks {

/// Rows of objects, which may have gaps between them. On the way they have none.
struct host_box {
  std::byte* first = nullptr;
  std::size_t object_bytes = 1;
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
  std::size_t planes = 1;
  detail::memory_pitch pitch{};

  [[nodiscard]] std::size_t bytes() const noexcept { return row_bytes * rows * planes; }
  [[nodiscard]] bool is_dense() const noexcept {
    return (rows == 1 || pitch.row == row_bytes) &&
           (planes == 1 || pitch.plane == rows * row_bytes);
  }
  void copy_to(std::byte* to) const noexcept {
    for_each_row([&](std::byte* row, std::size_t at) { std::memcpy(to + at, row, row_bytes); });
  }
  void copy_from(std::byte const* from) const noexcept {
    for_each_row([&](std::byte* row, std::size_t at) { std::memcpy(row, from + at, row_bytes); });
  }
  void combine(detail::reduction const& how, std::byte const* from) const {
    for_each_row([&](std::byte* row, std::size_t at) {
      how.combine(row, from + at, row_bytes / object_bytes);
    });
  }

 private:
  /// Calls visit(row, bytes before it).
  template <class Visit>
  void for_each_row(Visit const& visit) const {
    if (bytes() == 0) { return; }  // a token
    for (std::size_t plane = 0; plane < planes; ++plane) {
      for (std::size_t row = 0; row < rows; ++row) {
        visit(first + plane * pitch.plane + row * pitch.row, (plane * rows + row) * row_bytes);
      }
    }
  }
};

}  // namespace flotilla::cluster_ranks
