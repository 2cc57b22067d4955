// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which launches of a bulk may form chunks, and how large the chunks may be.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/kernel/launch_shape.hpp>

#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_limits.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class chunk_limits {
 public:
  // A chunk is a grid of its own, which costs the driving thread about 4 us. That is as much as 40
  // single tasks cost, which may share a grid with other tasks.
  static constexpr std::uint32_t min_items = 64;
  static constexpr std::uint32_t max_items = 1024;

  chunk_limits(kernel_table const& kernels, std::span<device const> devices);

  struct limit {
    std::uint32_t items = 0;           // 0: the launches must be single tasks
    std::uint64_t blocks = 0;          // of all items
    std::uint64_t blocks_of_item = 0;  // of one item
  };
  /// Returns how large a chunk with this launch may be. The launch must be valid.
  /// @param device  The index of the device that runs the chunk. Empty: any device.
  [[nodiscard]] limit of(std::uint32_t kernel, extent const& grid, extent const& block,
                         std::optional<unsigned> device) const noexcept;

 private:
  [[nodiscard]] limit on(unsigned device, kernel_entry const& kernel, std::uint64_t blocks,
                         std::uint64_t threads) const noexcept;

  struct one_device {
    grid_limits limits;
    bool runs_in_turn;  // a CPU device runs one task at a time
  };
  kernel_table const& kernels_;
  std::vector<one_device> devices_;
};

}  // namespace flotilla::dispatch
