// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A launch as it travels, without its parameters and handles.

#include <cstddef>
#include <cstdint>

namespace flotilla::isolated {

struct launch_geometry {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
};

/// In place of the number of parameters: the caller has passed none.
inline constexpr std::uint32_t no_arguments = 0xffff'ffff;

/// Each parameter takes its size, a number of 4 bytes, and then its bytes, so that both are aligned
/// to 4 bytes.
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 3) / 4 * 4;
}

}  // namespace flotilla::isolated
