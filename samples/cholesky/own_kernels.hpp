// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations on tiles with the kernels of tile_kernels.cu.

#include <type_traits>

#include <flotilla/flotilla.hpp>

#include "cholesky_kernels.hpp"
#include "tile_operations.hpp"

namespace cholesky {

template <class T>
class own_kernels final : public tile_operations<T> {
 public:
  own_kernels(flotilla::runtime& rt, flotilla::flow& flow)
      : flow_(flow), program_(rt.load(cholesky_kernels)) {}

  void factor(tile<T>& a, flotilla::data<int>& info, flotilla::task_options const& how) override {
    flow_.post(pick(cholesky_kernels.factor_f64, cholesky_kernels.factor_f32)
                   .with_shape({1}, {32})(update(a), write(info)),
               how);
  }
  void solve(tile<T> const& l, tile<T>& a, flotilla::task_options const& how) override {
    flow_.post(pick(cholesky_kernels.solve_f64, cholesky_kernels.solve_f32)
                   .with_shape({blocks(rows(a), 32)}, {32})(read(l), update(a)),
               how);
  }
  void square(tile<T> const& a, tile<T>& c, flotilla::task_options const& how) override {
    flow_.post(pick(cholesky_kernels.square_f64, cholesky_kernels.square_f32)
                   .with_shape({blocks(rows(c), 64), blocks(columns(c), 64)}, {16, 16})(read(a),
                                                                                        update(c)),
               how);
  }
  void multiply(tile<T> const& a, tile<T> const& b, tile<T>& c,
                flotilla::task_options const& how) override {
    flow_.post(pick(cholesky_kernels.multiply_f64, cholesky_kernels.multiply_f32)
                   .with_shape({blocks(rows(c), 64), blocks(columns(c), 64)}, {16, 16})(
                       read(a), read(b), update(c)),
               how);
  }

 private:
  template <class F64, class F32>
  [[nodiscard]] auto pick(F64 const& f64, F32 const& f32) const {
    if constexpr (std::is_same_v<T, double>) {
      return program_.kernel(f64);
    } else {
      return program_.kernel(f32);
    }
  }
  [[nodiscard]] static unsigned rows(tile<T> const& a) noexcept {
    return static_cast<unsigned>(a.extents()[1]);
  }
  [[nodiscard]] static unsigned columns(tile<T> const& a) noexcept {
    return static_cast<unsigned>(a.extents()[0]);
  }
  [[nodiscard]] static unsigned blocks(unsigned count, unsigned of) noexcept {
    return (count + of - 1) / of;
  }

  flotilla::flow& flow_;
  flotilla::program program_;
};

}  // namespace cholesky
