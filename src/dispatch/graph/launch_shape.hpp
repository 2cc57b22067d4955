// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Properties of kernels and grids that decide how a launch can be made.

#include <cuda.h>

#include <array>
#include <cstdint>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Returns whether the kernel was compiled for clusters of a certain size, or the driver does not
/// tell. The blocks of a cluster need places on the device at the same time. Call it with the
/// context current.
[[nodiscard]] bool may_need_clusters(context::context_handle const& context,
                                     CUfunction kernel) noexcept;

/// Returns whether the grid is valid on every GPU. The driver makes the same check at a launch.
[[nodiscard]] constexpr bool is_valid_grid(std::array<std::uint32_t, 3> const& grid) noexcept {
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0 && grid[0] <= 0x7fff'ffff &&
         grid[1] <= 0xffff && grid[2] <= 0xffff;
}

}  // namespace flotilla::dispatch
