// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records from which the blocks of a grid read their tasks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <flotilla/detail/kernel_twin.hpp>

#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/registered_slabs.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Writes records into memory that the device reads in place. The host writes a record once, and
/// the device reads it over the bus. This costs less than a copy, because each block reads its
/// record only once. A piece of memory holds the records of all grids of one batch. All pieces have
/// the same size, so each piece can be used again by any batch.
///
/// Threads: only the holder of the device's lease. If `take` needs more memory, the context must be
/// current.
class grid_records {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{160} << 10;
  static constexpr std::uint32_t max_blocks = 4096;  // of all grids of a batch
  static constexpr std::uint32_t max_grids = 32;     // of a batch

  /// A part of the piece.
  struct area {
    std::byte* host;
    CUdeviceptr device;
  };
  struct written {
    detail::twin_parameters parameters;
    std::uint32_t blocks;  // the number of blocks of the grid
  };

  grid_records(registered_slabs& memory, task_table const& tasks) noexcept
      : memory_(memory), tasks_(tasks) {}

  /// Takes a piece of memory and begins to write into it.
  /// @throws driver_error, std::bad_alloc  `give_back` has no effect then.
  void begin();
  /// Writes the records of the next grid into the piece: one for each task. All grids of a piece
  /// together have at most lane::max_tasks tasks and `max_blocks` blocks.
  [[nodiscard]] written write(std::span<slot_address const> tasks, std::uint32_t argument_bytes);
  /// Takes so many bytes of the piece, behind what was written.
  [[nodiscard]] area add(std::size_t bytes) noexcept;
  /// The piece that is written, and how many of its bytes were written.
  [[nodiscard]] registered_slabs::piece const& piece() const noexcept { return piece_; }
  [[nodiscard]] std::size_t written_bytes() const noexcept { return used_; }
  /// Returns the piece that was written. The caller gives it back after the batch.
  [[nodiscard]] registered_slabs::piece release() noexcept { return std::exchange(piece_, {}); }
  /// Takes back the piece that was written, because no grid will use it.
  void give_back() noexcept { give_back(release()); }
  void give_back(registered_slabs::piece const& unused) noexcept {
    if (unused.host != nullptr) { free_.push_back(unused); }  // `begin` has reserved the room
  }

 private:
  /// Moves the end of what was written up to the next alignment.
  void align() noexcept {
    used_ = (used_ + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
            alignof(std::max_align_t);
  }

  static_assert(lane::max_tasks * detail::twin_record_stride(slot::inline_bytes) +
                        max_blocks * sizeof(std::uint32_t) +
                        max_grids * alignof(std::max_align_t) <=
                    piece_bytes,
                "the records of every batch fit into one piece");

  registered_slabs& memory_;
  task_table const& tasks_;
  std::vector<registered_slabs::piece> free_;  // the last one is used next: it is in the cache
  std::size_t made_ = 0;
  registered_slabs::piece piece_;
  std::size_t used_ = 0;  // bytes of `piece_`
};

}  // namespace flotilla::dispatch
