// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneTBB workers help a thread that runs a grid. The thread runs blocks itself, and each helping
// worker takes some of the remaining blocks. No thread waits until a worker starts.

#include <atomic>
#include <cstdint>

#include "cpu_driver/kernel/grid.hpp"

namespace flotilla::cpu_driver {

/// The remaining blocks of one grid, shared by several threads. This object is on the stack of the
/// thread that called run_grid().
struct shared_blocks {
  grid const& what;
  std::uint64_t const total;
  std::uint64_t const at_a_time;
  std::atomic<std::uint64_t> next;  // first block that no thread has taken
  int const max_helpers;            // maximum number of helpers at a time
  std::atomic<grid_end> end{grid_end::completed};
  int helpers = 0;  // current number of helpers, guarded by the mutex of grid_helpers

  /// Takes and runs blocks until no block is left or a block has failed.
  void work();
};

class block_runner;

/// Runs the block of the grid that comes n-th. A block of an ordered twin first waits for others.
/// @param end  set by another thread if a block fails
[[nodiscard]] grid_end run_block(block_runner& runner, grid const& what, std::uint64_t n,
                                 std::uint64_t total, std::atomic<grid_end> const& end);

/// The maximum number of helpers on this machine.
[[nodiscard]] int max_helpers_on_machine();

/// Runs `blocks` on this thread and on available workers. Returns when no thread runs a block of
/// the grid any more.
void work_with_helpers(shared_blocks& blocks);

}  // namespace flotilla::cpu_driver
