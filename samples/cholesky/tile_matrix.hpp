// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A symmetric matrix in tiles.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "../team/team.hpp"

namespace cholesky {

/// A tile is stored by columns: view(c, r) is the entry of its column c and row r.
template <class T>
using tile = flotilla::data<T, 2>;

/// The lower triangle of a symmetric matrix: square tiles, smaller ones at the lower edge. The
/// columns of tiles are dealt to the devices in turn. The rank of its device owns a column, so the
/// tasks that change its tiles run there, and other ranks need no memory for them.
template <class T>
class tile_matrix {
 public:
  /// @param side     Rows and columns of a tile.
  /// @param devices  Of all ranks.
  tile_matrix(flotilla::flow& flow, std::size_t size, std::size_t side,
              std::vector<samples::place> devices)
      : size_(size), side_(side), count_((size + side - 1) / side), devices_(std::move(devices)) {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        tiles_.emplace_back(flow, std::array{length(j), length(i)},
                            "A(" + std::to_string(i) + ", " + std::to_string(j) + ")");
        tiles_.back().set_owner(home(j).rank);
        bytes_ += tiles_.back().size() * sizeof(T);
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
  [[nodiscard]] std::vector<tile<T>>& tiles() noexcept { return tiles_; }
  /// Returns the device that changes the tiles of a column.
  [[nodiscard]] samples::place home(std::size_t column) const noexcept {
    return devices_[column % devices_.size()];
  }
  /// Returns the bytes of all tiles.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t size_;
  std::size_t side_;
  std::size_t count_;
  std::size_t bytes_ = 0;
  std::vector<samples::place> devices_;
  std::vector<tile<T>> tiles_;  // row by row
};

}  // namespace cholesky
