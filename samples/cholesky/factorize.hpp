// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiled Cholesky factorization.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tile_operations.hpp"

namespace cholesky {

/// Submits all tasks that replace the lower triangle of `a` with its Cholesky factor. No line here
/// says what is copied, what is sent to another rank or what must wait: the flow infers it from the
/// data of the tasks.
///
/// The columns of tiles form panels. A panel is first updated with all columns to its left, one
/// after the other, and then factorized. If the panel is the whole matrix, this is the
/// right-looking algorithm. Narrower panels need less memory on the devices.
/// @param infos  One for each row of tiles (see tile_operations::factor).
/// @param panel  Columns of tiles that stay on the devices while others pass by.
template <class T>
void factorize(tile_operations<T>& operations, tile_matrix<T>& a,
               std::vector<flotilla::data<int>>& infos, std::size_t panel) {
  constexpr int first = -2, soon = -1;  // priorities
  std::size_t const count = a.count();
  auto const on = [&](std::size_t column, int priority) {
    return flotilla::task_options{.device = a.home(column).device, .priority = priority};
  };
  auto const update = [&](std::size_t j, std::size_t k, int priority) {
    operations.square(a.at(j, k), a.at(j, j), on(j, priority));
    for (std::size_t i = j + 1; i < count; ++i) {
      operations.multiply(a.at(i, k), a.at(j, k), a.at(i, j), on(j, priority));
    }
  };
  // Without this, each rank would keep copies of the whole factor.
  auto const collect = [&](std::size_t k) {
    for (std::size_t i = k; i < count; ++i) { a.at(i, k).collect(); }
  };
  for (std::size_t begin = 0; begin < count; begin += panel) {
    std::size_t const end = std::min(count, begin + panel);
    bool const is_last = end == count;
    for (std::size_t k = 0; k < begin; ++k) {
      for (std::size_t j = begin; j < end; ++j) { update(j, k, 0); }
      if (is_last) { collect(k); }
    }
    for (std::size_t k = begin; k < end; ++k) {
      operations.factor(a.at(k, k), infos[k], on(k, first));
      for (std::size_t i = k + 1; i < count; ++i) {
        operations.solve(a.at(k, k), a.at(i, k), on(k, first));
      }
      // The next column first, because the next step waits for it.
      for (std::size_t j = k + 1; j < end; ++j) { update(j, k, j == k + 1 ? soon : 0); }
      if (is_last) { collect(k); }
    }
  }
}

/// Waits until the factorization has ended. Returns the order of the first leading minor that is
/// not positive, or nothing if the matrix is positive definite. Call it on rank 0, which owns the
/// infos.
template <class T>
std::optional<std::size_t> first_bad_minor(tile_matrix<T> const& a,
                                           std::vector<flotilla::data<int>>& infos) {
  for (std::size_t k = 0; k < infos.size(); ++k) {
    int const info = infos[k].host()(0);
    if (info != 0) { return a.first(k) + static_cast<std::size_t>(info); }
  }
  return std::nullopt;
}

}  // namespace cholesky
