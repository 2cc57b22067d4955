// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations on tiles with cuBLAS and cuSOLVER.

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

}  // namespace cholesky
