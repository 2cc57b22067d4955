#pragma once
// Which launches a device may write into the nodes of a graph itself.

#include <cuda.h>

#include <array>
#include <cstdint>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// Whether a device may change the grid of this kernel's nodes. Of one that asks for clusters not every grid is valid, and nobody
/// would say so. With the context current.
[[nodiscard]] bool is_updatable(context::floating_context const& context, CUfunction kernel) noexcept;

/// What the driver would check, were it asked: every GPU takes so much.
[[nodiscard]] constexpr bool is_valid_grid(std::array<std::uint32_t, 3> const& grid) noexcept {
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0 && grid[0] <= 0x7fff'ffff && grid[1] <= 0xffff && grid[2] <= 0xffff;
}

}  // namespace flotilla::dispatch
