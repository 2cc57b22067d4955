#pragma once
// oneTBB's workers help threads that run grids. No thread waits for a worker to begin: a grid's own
// thread runs the blocks, and each helper takes some of the remaining blocks.

#include <atomic>
#include <cstdint>

#include "cpu_driver/kernel/grid.hpp"

namespace flotilla::cpu_driver {

/// The remaining blocks of one grid, shared by several threads. Lives on the stack of the grid's
/// own thread.
struct shared_blocks {
  grid const& what;
  std::uint64_t const total;
  std::uint64_t const at_a_time;
  std::atomic<std::uint64_t> next;  // first block that no thread has taken
  int const max_helpers;            // at a time
  std::atomic<grid_end> end{grid_end::completed};
  int helpers = 0;  // guarded by the mutex of grid_helpers

  /// Takes and runs blocks until there are no more or one has failed.
  void work();
};

[[nodiscard]] cpu::index3 block_index_of(std::uint64_t number, cpu::index3 grid_size);

/// The maximum number of helpers on this machine.
[[nodiscard]] int max_helpers_on_machine();

/// Runs `blocks` with the helpers that are available. Returns when no thread runs any of them.
void work_with_helpers(shared_blocks& blocks);

}  // namespace flotilla::cpu_driver
