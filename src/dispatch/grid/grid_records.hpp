// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records from which the blocks of a grid read their tasks.

#include <cstdint>
#include <span>
#include <vector>

#include <flotilla/detail/kernel_twin.hpp>

#include "dispatch/lane/registered_slabs.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Writes records into memory that the device reads in place. The host writes a record once, and
/// the device reads it over the bus. This costs less than a copy, because each block reads its
/// record only once. All pieces of memory have the same size, so each piece can be used again by
/// any grid.
///
/// Threads: only the holder of the device's lease. If `write` needs more memory, the context must
/// be current.
class grid_records {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  static constexpr std::uint32_t max_blocks = 4096;

  struct written {
    registered_slabs::piece memory;  // give it back after the end of the grid
    detail::twin_parameters parameters;
    std::uint32_t blocks;  // the number of blocks of the grid
  };

  grid_records(registered_slabs& memory, task_table const& tasks) noexcept
      : memory_(memory), tasks_(tasks) {}

  /// Returns whether so many tasks with so many bytes of arguments fit into a piece.
  [[nodiscard]] static constexpr bool fit(std::size_t tasks,
                                          std::uint32_t argument_bytes) noexcept {
    return tasks * detail::twin_record_stride(argument_bytes) +
               max_blocks * sizeof(std::uint32_t) <=
           piece_bytes;
  }
  /// Writes a record for each task. The tasks must `fit`, and have at most `max_blocks` blocks.
  /// @throws driver_error, std::bad_alloc
  [[nodiscard]] written write(std::span<slot_address const> tasks, std::uint32_t argument_bytes);
  void give_back(registered_slabs::piece const& unused) noexcept {
    if (unused.host != nullptr) { free_.push_back(unused); }  // `write` has reserved the room
  }

 private:
  [[nodiscard]] registered_slabs::piece take();

  registered_slabs& memory_;
  task_table const& tasks_;
  std::vector<registered_slabs::piece> free_;  // the last one is used next: it is in the cache
  std::size_t made_ = 0;
};

}  // namespace flotilla::dispatch
