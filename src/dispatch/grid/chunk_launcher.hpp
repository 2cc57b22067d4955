// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches chunks of bulks.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include <flotilla/detail/kernel_twin.hpp>

#include "context/context_handle.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_limits.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The thread that submitted a chunk has written its records, so a launch needs no more than the
/// driver's call.
///
/// Threads: only the holder of the device's lease, with the context current. The launcher returns
/// driver errors, and the caller must handle them.
class chunk_launcher {
 public:
  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    lane_set& lanes;
    batch_launcher& launcher;
    grid_limits const& limits;
  };
  explicit chunk_launcher(parts const& with) : parts_(with) {}

  /// The records of a chunk.
  struct chunk_records {
    std::byte* host;
    CUdeviceptr device;
  };
  /// Call this before the launches of a chunk. Numbers the blocks of its items again if an earlier
  /// launch of the chunk, on a device that was lost, has divided it into several grids.
  void number_blocks(slot_address chunk, chunk_records const& records) const noexcept;
  /// Launches consecutive items of a chunk as one grid. After `number_blocks`, call it only once
  /// for each item: it numbers the blocks of the grid from 0.
  /// @param from  The first item.
  [[nodiscard]] CUresult launch_items(lane const& lane, slot_address chunk,
                                      chunk_records const& records, std::uint32_t from,
                                      std::uint32_t count);
  /// Returns how many items of a chunk, from `from` on, should be one grid.
  /// @param kernel_ns  the estimated duration of the kernel
  [[nodiscard]] std::uint32_t count_of_items(slot_address chunk, chunk_records const& records,
                                             std::uint32_t from, float kernel_ns) const noexcept;
  /// Returns how many times the device must be filled with blocks to run the chunk.
  [[nodiscard]] std::uint32_t rounds_of(slot_address chunk) const noexcept;
  /// Commits the batches that were begun in the lane, and lets the device report their end.
  /// @return the driver's status.
  [[nodiscard]] CUresult complete(lane& lane, batch_traits const& traits);

 private:
  /// @param form    A task with the kernel, the block and the shared memory of all launches.
  /// @param blocks  The number of blocks of all launches.
  [[nodiscard]] CUresult launch_twin(lane const& lane, slot const& form,
                                     detail::twin_parameters parameters, std::uint32_t blocks);

  parts const parts_;
};

}  // namespace flotilla::dispatch
