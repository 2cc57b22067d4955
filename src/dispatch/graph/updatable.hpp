// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which kernel nodes a device may update.

#include <cuda.h>

#include <array>
#include <cstdint>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Returns whether a device may change the grid of this kernel's nodes. If the kernel requires a
/// cluster size, the result is false: such a kernel does not accept every grid, and the device
/// would not report an invalid grid. Call it with the context current.
[[nodiscard]] bool is_updatable(context::context_handle const& context, CUfunction kernel) noexcept;

/// Returns whether the grid is valid on every GPU. The driver makes the same check when it rewrites
/// a node.
[[nodiscard]] constexpr bool is_valid_grid(std::array<std::uint32_t, 3> const& grid) noexcept {
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0 && grid[0] <= 0x7fff'ffff &&
         grid[1] <= 0xffff && grid[2] <= 0xffff;
}

}  // namespace flotilla::dispatch
