// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a factor on the host.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "../team/team.hpp"
#include "matrix_source.hpp"
#include "tile_matrix.hpp"

namespace cholesky {

/// Returns |A x - L L^T x| / (|A| |x| N eps) for one vector x, with maximum norms. A stable
/// factorization gives less than about 1. Host tasks of the flow compute it: they copy the factor
/// to the host, and use all processors that oneTBB may use. A rank computes with its own tiles: the
/// vectors, which rank 0 owns, are sent to them.
template <class T>
double backward_error(samples::team const& team, flotilla::flow& flow, tile_matrix<T>& factor,
                      matrix_source const& matrix) {
  using vector = flotilla::data<double>;
  std::size_t const count = factor.count();
  std::vector<vector> x, y, z, a, norms;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::vector<vector>* each : {&x, &y, &z, &a, &norms}) {
      each->emplace_back(flow, std::array{factor.length(i)});
    }
    auto const set = [first = factor.first(i)](flotilla::view<double> to, double scale) {
      for (std::size_t r = 0; r < to.size(); ++r) {
        to(r) = scale * std::cos(static_cast<double>(first + r));
      }
    };
    flow.post(uses(write(x[i]), write(y[i]), write(z[i])),
              flotilla::host_task([set](auto xi, auto yi, auto zi) {
                set(xi, 1);
                set(yi, 0);
                set(zi, 0);
              }));
  }
  for (std::size_t j = 0; j < count; ++j) {  // y = L^T x, then z = L y
    for (std::size_t i = j; i < count; ++i) {
      flow.post(uses(read(factor.at(i, j)), read(x[i]), update(y[j])),
                flotilla::host_task([on_diagonal = i == j](auto l, auto xi, auto yj) {
                  for (std::size_t c = 0; c < yj.size(); ++c) {
                    for (std::size_t r = on_diagonal ? c : 0; r < xi.size(); ++r) {
                      yj(c) += static_cast<double>(l(c, r)) * xi(r);
                    }
                  }
                }),
                {.rank = factor.home(j).rank});
    }
    for (std::size_t i = j; i < count; ++i) {
      flow.post(uses(read(factor.at(i, j)), read(y[j]), update(z[i])),
                flotilla::host_task([on_diagonal = i == j](auto l, auto yj, auto zi) {
                  for (std::size_t c = 0; c < yj.size(); ++c) {
                    for (std::size_t r = on_diagonal ? c : 0; r < zi.size(); ++r) {
                      zi(r) += static_cast<double>(l(c, r)) * yj(c);
                    }
                  }
                }),
                {.rank = factor.home(j).rank});
    }
  }
  for (std::size_t i = 0; i < count; ++i) {  // a = A x, and the sums of the rows of A
    flow.post(uses(write(a[i]), write(norms[i])),
              flotilla::host_task(
                  [&matrix, first = factor.first(i), size = factor.size()](auto ai, auto sums) {
                    for (std::size_t r = 0; r < ai.size(); ++r) {
                      ai(r) = sums(r) = 0;
                      for (std::size_t j = 0; j < size; ++j) {
                        // The factor has the precision of T, and so has the matrix.
                        double const entry = static_cast<T>(matrix.entry(first + r, j));
                        ai(r) += entry * std::cos(static_cast<double>(j));
                        sums(r) += std::abs(entry);
                      }
                    }
                  }),
              {.rank = factor.home(i).rank});
  }
  return team.on_first([&] {
    double norm = 0, difference = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const ai = a[i].host(), zi = z[i].host(), sums = norms[i].host();
      for (std::size_t r = 0; r < ai.size(); ++r) {
        difference = std::max(difference, std::abs(ai(r) - zi(r)));
        norm = std::max(norm, sums(r));
      }
    }
    return difference / (norm * static_cast<double>(factor.size()) *
                         static_cast<double>(std::numeric_limits<T>::epsilon()));
  });
}

}  // namespace cholesky
