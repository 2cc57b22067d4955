// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the field is divided.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "../team/team.hpp"
#include "band_shape.hpp"

namespace heat {

/// A band: consecutive rows of the field, which one device computes.
struct band {
  std::size_t first_row;
  band_shape shape;
  samples::place home;
};

/// Divides a field into bands of about the same height. Each device gets consecutive bands, so only
/// one pair of bands exchanges its edges between two neighbouring devices.
/// @param count    The number of bands, in [1, rows].
/// @param devices  As many as get bands: at most `count`.
[[nodiscard]] inline std::vector<band> make_bands(std::size_t rows, std::size_t columns,
                                                  std::size_t count,
                                                  std::span<samples::place const> devices) {
  std::vector<band> made;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t const begin = rows * i / count, end = rows * (i + 1) / count;
    made.push_back(
        {.first_row = begin,
         .shape = {.rows = static_cast<unsigned>(end - begin),
                   .columns = static_cast<unsigned>(columns),
                   .inner_begin = i == 0 ? 1u : 0u,
                   .inner_end = static_cast<unsigned>(end - begin) - (i + 1 == count ? 1u : 0u)},
         .home = devices[i * devices.size() / count]});
  }
  return made;
}

/// Returns whether `is_wanted(home)` holds for a neighbour of a band.
template <class Predicate>
[[nodiscard]] bool has_neighbour(std::vector<band> const& bands, std::size_t index,
                                 Predicate const& is_wanted) {
  return (index != 0 && is_wanted(bands[index - 1].home)) ||
         (index + 1 != bands.size() && is_wanted(bands[index + 1].home));
}

/// Returns the indices of the bands in the order in which a step computes them: first those with a
/// neighbour on another device. So their edges are copied while the devices compute the others.
[[nodiscard]] inline std::vector<std::size_t> order_of(std::vector<band> const& bands) {
  std::vector<std::size_t> made(bands.size());
  std::iota(made.begin(), made.end(), std::size_t{0});
  std::stable_partition(made.begin(), made.end(), [&](std::size_t i) {
    return has_neighbour(bands, i, [&](samples::place const& at) { return at != bands[i].home; });
  });
  return made;
}

/// Returns the priority of the tasks of a band. Edges take long to reach another rank, so a device
/// computes the bands that have them before all others that are ready. Otherwise the bands of a GPU
/// run at the same time, and the edges leave late.
[[nodiscard]] inline int priority_of(std::vector<band> const& bands, std::size_t index) {
  bool const is_seam = has_neighbour(
      bands, index, [&](samples::place const& at) { return at.rank != bands[index].home.rank; });
  return is_seam ? -1 : 0;
}

}  // namespace heat
