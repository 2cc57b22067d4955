// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations on tiles with cuBLAS and cuSOLVER.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <flotilla/flotilla.hpp>

#include "tile_operations.hpp"

namespace cholesky {

/// Returns why cuBLAS and cuSOLVER cannot be used; empty if they can. They are opened when the
/// program runs, so it also runs on machines without them.
[[nodiscard]] std::string why_no_cuda_libraries();

/// @throws std::runtime_error  The libraries cannot be used.
template <class T>
[[nodiscard]] std::unique_ptr<tile_operations<T>> make_cuda_libraries(flotilla::runtime& rt,
                                                                      flotilla::flow& flow);

/// Factorizes a whole matrix in the memory of device 0 with cusolverDnXpotrf, for comparison.
/// @param matrix  size x size entries, by columns
/// @return the time from the call of the library until the result is there.
/// @throws std::runtime_error  The libraries cannot be used, or the matrix is not positive
///                             definite.
template <class T>
[[nodiscard]] std::chrono::duration<double> factor_with_cusolver(flotilla::runtime& rt,
                                                                 flotilla::device_buffer<T>& matrix,
                                                                 std::size_t size);

}  // namespace cholesky
