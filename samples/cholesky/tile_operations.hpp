// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The four operations of the tiled factorization.

#include <flotilla/flotilla.hpp>

#include "tile_matrix.hpp"

namespace cholesky {

/// Each function submits one task. Its options name the device and the priority.
template <class T>
class tile_operations {
 public:
  virtual ~tile_operations() = default;

  /// Replaces the lower triangle of `a` with its Cholesky factor. Writes 0 to `info`, or the order
  /// of the first leading minor that is not positive.
  virtual void factor(tile<T>& a, flotilla::data<int>& info, flotilla::task_options const& how) = 0;
  /// a = a * l^-T
  virtual void solve(tile<T> const& l, tile<T>& a, flotilla::task_options const& how) = 0;
  /// c -= a * a^T. Only the lower triangle of `c` is used.
  virtual void square(tile<T> const& a, tile<T>& c, flotilla::task_options const& how) = 0;
  /// c -= a * b^T
  virtual void multiply(tile<T> const& a, tile<T> const& b, tile<T>& c,
                        flotilla::task_options const& how) = 0;
};

}  // namespace cholesky
