// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a factor to a file.

#include <cstddef>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include <flotilla/flotilla.hpp>

#include "../team/team.hpp"
#include "tile_matrix.hpp"

namespace cholesky {

/// Writes the lower triangle in the Matrix Market format, with all digits. Every rank calls this
/// function: rank 0 gets the tiles, and writes the file.
/// @throws std::runtime_error  The message names the file.
template <class T>
void write_factor(samples::team const& team, tile_matrix<T>& factor, std::string const& path) {
  for (tile<T>& each : factor.tiles()) { each.set_owner(0); }
  if (!team.is_first()) { return; }
  std::size_t const size = factor.size();
  std::ofstream file{path};
  file.precision(std::numeric_limits<T>::max_digits10);
  file << "%%MatrixMarket matrix coordinate real general\n"
       << size << ' ' << size << ' ' << size * (size + 1) / 2 << '\n';
  for (std::size_t i = 0; i < factor.count(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      flotilla::view<T const, 2> const entries = factor.at(i, j).host();
      for (std::size_t c = 0; c < entries.extents[0]; ++c) {
        for (std::size_t r = i == j ? c : 0; r < entries.extents[1]; ++r) {
          file << factor.first(i) + r + 1 << ' ' << factor.first(j) + c + 1 << ' ' << entries(c, r)
               << '\n';
        }
      }
    }
  }
  if (!file.flush()) { throw std::runtime_error(path + ": cannot be written"); }
}

}  // namespace cholesky
