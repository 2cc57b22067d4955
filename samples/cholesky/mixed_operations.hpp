// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations on small tiles on GPUs.

#include <memory>
#include <utility>

#include <flotilla/flotilla.hpp>

#include "tile_operations.hpp"

namespace cholesky {

/// Uses libraries for the few tasks that factor and solve, and kernels for the many that multiply.
/// For small tiles, a call of a library costs more than its kernel, but flotilla launches many
/// kernels at the price of one.
template <class T>
class mixed_operations final : public tile_operations<T> {
 public:
  mixed_operations(std::unique_ptr<tile_operations<T>> libraries,
                   std::unique_ptr<tile_operations<T>> kernels)
      : libraries_(std::move(libraries)), kernels_(std::move(kernels)) {}

  void factor(tile<T>& a, flotilla::data<int>& info, flotilla::task_options const& how) override {
    libraries_->factor(a, info, how);
  }
  void solve(tile<T> const& l, tile<T>& a, flotilla::task_options const& how) override {
    libraries_->solve(l, a, how);
  }
  void square(tile<T> const& a, tile<T>& c, flotilla::task_options const& how) override {
    kernels_->square(a, c, how);
  }
  void multiply(tile<T> const& a, tile<T> const& b, tile<T>& c,
                flotilla::task_options const& how) override {
    kernels_->multiply(a, b, c, how);
  }

 private:
  std::unique_ptr<tile_operations<T>> libraries_;
  std::unique_ptr<tile_operations<T>> kernels_;
};

}  // namespace cholesky
