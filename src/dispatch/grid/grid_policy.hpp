// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which launches can be parts of a grid, and how large a grid may be.

#include <cstdint>

#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/graph/launch_shape.hpp"
#include "dispatch/grid/grid_limits.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease.
class grid_policy {
 public:
  grid_policy(kernel_table const& kernels, grid_limits const& limits) noexcept
      : kernels_(kernels), limits_(limits) {}

  /// Returns whether the launch may be part of a grid: its kernel has a twin, and the launch is
  /// small beside the device. A launch that fills the device gains nothing.
  [[nodiscard]] bool takes(slot const& task) const noexcept;
  /// Returns the maximum number of blocks of a launch that gains something in a grid, for launches
  /// of this form. A GPU needs about 180 ns for each kernel of a graph, and runs at most 128
  /// kernels at once. A launch that takes longer as its share of the device, and of which 128 fill
  /// the device, gains nothing. Its grid would only carry few tasks, and its twin may need more
  /// registers.
  /// @param kernel_ns  the estimated duration of the kernel
  [[nodiscard]] std::uint64_t max_blocks_of_task(slot const& form, float kernel_ns) const noexcept;
  /// Returns whether the launch may be part of a grid if a launch of the same form may, and if this
  /// launch has at most `max_blocks_of_task` blocks. Cheaper than `takes`.
  [[nodiscard]] static bool takes_like(slot const& task) noexcept {
    return !task.large && !task.attributed &&
           is_valid_grid({task.grid[0], task.grid[1], task.grid[2]});
  }
  /// Returns whether both launches have the same kernel, block size and size of dynamic shared
  /// memory, as all launches of a grid must.
  [[nodiscard]] static bool have_one_form(slot const& one, slot const& other) noexcept {
    return one.kernel == other.kernel && one.shared_bytes == other.shared_bytes &&
           one.block[0] == other.block[0] && one.block[1] == other.block[1] &&
           one.block[2] == other.block[2];
  }
  /// Returns whether the launch has so many blocks that no other kernel finds room beside it.
  [[nodiscard]] bool fills_device(slot const& task) const noexcept;
  /// Returns how many blocks a grid with this launch should have at most. With more, the first
  /// tasks of the grid would end long before the grid ends.
  /// @param kernel_ns  the estimated duration of the kernel
  [[nodiscard]] std::uint64_t max_blocks(slot const& task, float kernel_ns) const noexcept;
  /// Returns whether several waves of launches of this form can be one ordered grid (see
  /// ordered_launcher).
  [[nodiscard]] bool can_be_ordered(slot const& form) const noexcept;
  /// Returns how many blocks an ordered grid of this form should have at most. Blocks that wait
  /// occupy the device, so all of them should fit at the same time.
  [[nodiscard]] std::uint64_t max_ordered_blocks(slot const& form) const noexcept;
  /// Returns how many times as long as one launch of this form a grid with so many blocks takes.
  [[nodiscard]] std::uint32_t rounds(slot const& form, std::uint64_t blocks) const noexcept;

 private:
  kernel_table const& kernels_;
  grid_limits const& limits_;
};

}  // namespace flotilla::dispatch
