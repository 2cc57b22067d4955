// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A symmetric matrix in tiles.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace cholesky {

/// A tile is stored by columns: view(c, r) is the entry of its column c and row r.
template <class T>
using tile = flotilla::data<T, 2>;

/// The lower triangle of a symmetric matrix: square tiles, smaller ones at the lower edge. The
/// copies on the host lie in pinned memory.
template <class T>
class tile_matrix {
 public:
  /// @param side  Rows and columns of a tile.
  tile_matrix(flotilla::runtime& rt, flotilla::flow& flow, std::size_t size, std::size_t side)
      : size_(size), side_(side), count_((size + side - 1) / side), host_(rt, entries()) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        std::size_t const entries_here = length(i) * length(j);
        tiles_.emplace_back(flow, host_.subspan(at, entries_here), std::array{length(j), length(i)},
                            "A(" + std::to_string(i) + ", " + std::to_string(j) + ")");
        at += entries_here;
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the number of rows of tiles.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Returns the index of the first row of a row of tiles.
  [[nodiscard]] std::size_t first(std::size_t i) const noexcept { return i * side_; }
  /// Returns how many rows the tiles of a row have.
  [[nodiscard]] std::size_t length(std::size_t i) const noexcept {
    return std::min(side_, size_ - first(i));
  }
  /// Returns the tile in row `i` and column `j` of the tiles; i >= j.
  [[nodiscard]] tile<T>& at(std::size_t i, std::size_t j) noexcept {
    return tiles_[i * (i + 1) / 2 + j];
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return host_.size() * sizeof(T); }

 private:
  [[nodiscard]] std::size_t entries() const noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) { sum += length(i) * length(j); }
    }
    return sum;
  }

  std::size_t size_;
  std::size_t side_;
  std::size_t count_;
  flotilla::host_buffer<T> host_;
  std::vector<tile<T>> tiles_;  // row by row
};

}  // namespace cholesky
