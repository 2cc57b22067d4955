// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Factorizations without flows, for comparison.

#include <chrono>
#include <cstddef>

#include <flotilla/flotilla.hpp>

namespace cholesky {

/// Factorizes a whole matrix in the memory of device 0 with cusolverDnXpotrf, for comparison.
/// @param matrix  size x size entries, by columns
/// @return the time from the call of the library until the result is there.
/// @throws std::runtime_error  The libraries cannot be used, or the matrix is not positive
///                             definite.
template <class T>
[[nodiscard]] std::chrono::duration<double> factor_with_cusolver(flotilla::runtime& rt,
                                                                 flotilla::device_buffer<T>& matrix,
                                                                 std::size_t size);

/// Factorizes a matrix of tiles in the memory of device 0 as a program without flotilla would: with
/// eight streams, and an event for each tile. For comparison.
/// @param tiles  The tiles of the lower triangle, row by row, as in tile_matrix.
/// @param side   Rows and columns of each tile; `count` rows of tiles.
/// @return the time from the first call of the library until the factor is there.
/// @throws std::runtime_error  The libraries cannot be used.
template <class T>
[[nodiscard]] std::chrono::duration<double> factor_by_hand(flotilla::runtime& rt,
                                                           flotilla::device_buffer<T>& tiles,
                                                           std::size_t side, std::size_t count);

}  // namespace cholesky
