// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "mg_comparison.hpp"

#include <stdexcept>

#ifdef CHOLESKY_WITH_CUDA_LIBRARIES
#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <limits>
#include <string>

#include "library_handles.hpp"
#include "mg_api.hpp"
#include "mg_matrix.hpp"
#include "primary_contexts.hpp"
#include "random_entry.hpp"
#else
#include "cuda_libraries.hpp"
#endif

namespace cholesky {

#ifndef CHOLESKY_WITH_CUDA_LIBRARIES

template <class T>
std::vector<std::chrono::duration<double>> factor_with_cusolver_mg(flotilla::runtime const&,
                                                                   std::size_t, std::size_t,
                                                                   unsigned) {
  throw std::runtime_error("cusolverMgPotrf: " + why_no_cuda_libraries());
}

#else

namespace {

using seconds = std::chrono::duration<double>;

/// Returns the driver's ordinals of the GPUs. A GPU with several parts is listed once: the library
/// knows no parts.
std::vector<int> gpu_ordinals(flotilla::runtime const& rt) {
  std::vector<int> found;
  for (flotilla::device const& each : rt.devices()) {
    if (each.kind != flotilla::device_kind::gpu) {
      throw std::runtime_error("cusolverMgPotrf needs GPUs, but device " +
                               std::to_string(each.ordinal.value) + " is a CPU device");
    }
    if (std::find(found.begin(), found.end(), each.driver_ordinal) == found.end()) {
      found.push_back(each.driver_ordinal);
    }
  }
  return found;
}

/// Compares some entries of L x L^T with those of the matrix. The upper triangle is not part of L.
template <class T>
void check_factor(mg_matrix<T> const& factor, std::size_t size) {
  std::array const indices{size - 1, size / 2, std::size_t{0}};
  std::array<std::vector<T>, indices.size()> rows;
  std::transform(indices.begin(), indices.end(), rows.begin(),
                 [&](std::size_t index) { return factor.row(index); });
  for (std::size_t a = 0; a < indices.size(); ++a) {
    for (std::size_t b = a; b < indices.size(); ++b) {
      double product = 0, magnitude = 0;
      for (std::size_t k = 0; k <= indices[b]; ++k) {
        double const each = static_cast<double>(rows[a][k]) * static_cast<double>(rows[b][k]);
        product += each;
        magnitude += std::abs(each);
      }
      double const entry = static_cast<T>(random_entry(indices[a], indices[b], size));
      // The bound of rounding errors for each entry of a stable factorization.
      double const allowed = static_cast<double>(std::numeric_limits<T>::epsilon()) *
                             static_cast<double>(size + 1) * magnitude;
      if (!(std::abs(product - entry) <= allowed)) {
        throw std::runtime_error("cusolverMgPotrf: the factor is wrong");
      }
    }
  }
}

template <class T>
std::vector<seconds> factor_on(std::vector<int> const& ordinals, std::size_t size,
                               std::size_t block, unsigned runs) {
  static_cast<void>(mg());  // if there is no library, the reason is given before memory is needed
  primary_contexts const contexts{ordinals};
  mg_handle const solver{ordinals, size, block, type_of<T>};
  mg_matrix<T> matrix{contexts, size, block};
  contexts.use(0);  // the library asks its handle of the first GPU
  std::size_t const entries = solver.workspace_entries(matrix.columns());
  memory_on_each workspaces{contexts, entries * sizeof(T)};
  std::vector<seconds> took;
  for (unsigned i = 0; i < runs; ++i) {
    matrix.fill();
    contexts.synchronize();
    contexts.use(0);
    auto const begin = std::chrono::steady_clock::now();
    int const minor = solver.potrf(matrix.columns(), workspaces.addresses(), entries);
    contexts.synchronize();
    took.push_back(std::chrono::steady_clock::now() - begin);
    if (minor != 0) {
      throw std::runtime_error("cusolverMgPotrf: the matrix is not positive definite");
    }
    check_factor(matrix, size);
  }
  return took;
}

}  // namespace

template <class T>
std::vector<seconds> factor_with_cusolver_mg(flotilla::runtime const& rt, std::size_t size,
                                             std::size_t block, unsigned runs) {
  std::vector<int> const ordinals = gpu_ordinals(rt);
  return std::async(std::launch::async, [&] { return factor_on<T>(ordinals, size, block, runs); })
      .get();
}

#endif

template std::vector<std::chrono::duration<double>> factor_with_cusolver_mg<double>(
    flotilla::runtime const&, std::size_t, std::size_t, unsigned);
template std::vector<std::chrono::duration<double>> factor_with_cusolver_mg<float>(
    flotilla::runtime const&, std::size_t, std::size_t, unsigned);

}  // namespace cholesky
