// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The factorization with cusolverMg, for comparison.

#include <chrono>
#include <cstddef>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace cholesky {

/// Factorizes the random matrix with cusolverMgPotrf on all GPUs of the runtime, and checks some
/// entries of the factor. The library works in the primary contexts of the GPUs, on a thread of its
/// own: so no context stays current on the caller's thread.
/// @param block  Columns of a block. The GPUs get blocks in turn.
/// @return the time of each run, from the call of the library until all GPUs have finished.
/// @throws std::runtime_error  A device is no GPU, the libraries cannot be used, or the factor is
///                             wrong.
template <class T>
[[nodiscard]] std::vector<std::chrono::duration<double>> factor_with_cusolver_mg(
    flotilla::runtime const& rt, std::size_t size, std::size_t block, unsigned runs);

}  // namespace cholesky
