// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the matrix comes from.

#include <cstddef>
#include <memory>
#include <string>

namespace cholesky {

/// A symmetric matrix. Threads: any.
class matrix_source {
 public:
  virtual ~matrix_source() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual double entry(std::size_t i, std::size_t j) const noexcept = 0;
};

/// A random matrix that is positive definite.
[[nodiscard]] std::unique_ptr<matrix_source> make_random(std::size_t size);

/// Reads a symmetric real matrix in the Matrix Market format, as coordinates or as an array.
/// @throws std::runtime_error  The message names file, line and reason.
[[nodiscard]] std::unique_ptr<matrix_source> read_matrix_market(std::string const& path);

/// The covariance of points: exp(-|x - y|^2 / (2 length^2)), and on the diagonal a little more, as
/// in Gaussian processes.
/// @param path  A CSV file with one point in each line.
/// @throws std::runtime_error  The message names file, line and reason.
[[nodiscard]] std::unique_ptr<matrix_source> make_covariance(std::string const& path,
                                                             double length);

}  // namespace cholesky
