#pragma once
// Which kernel nodes a device may update itself.

#include <cuda.h>

#include <array>
#include <cstdint>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Whether a device may change the grid of this kernel's nodes. It may not if the kernel has a
/// required cluster size: then not every grid is valid, and the device would not report an invalid
/// one. With the context current.
[[nodiscard]] bool is_updatable(context::context_handle const& context, CUfunction kernel) noexcept;

/// The check that the driver makes when it rewrites a node. Every GPU accepts such grids.
[[nodiscard]] constexpr bool is_valid_grid(std::array<std::uint32_t, 3> const& grid) noexcept {
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0 && grid[0] <= 0x7fff'ffff &&
         grid[1] <= 0xffff && grid[2] <= 0xffff;
}

}  // namespace flotilla::dispatch
