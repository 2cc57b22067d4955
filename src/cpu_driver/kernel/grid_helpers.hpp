#pragma once
// oneTBB's workers, as helpers of threads that run grids. Nobody waits for a worker: a grid's own
// thread goes through the blocks, and a helper that comes takes some of those that are left.

#include <atomic>
#include <cstdint>

#include "cpu_driver/grid.hpp"

namespace flotilla::cpu_driver {

/// The blocks of one grid that are left, for several threads. Lives on the stack of the grid's own
/// thread.
struct shared_blocks {
  grid const& what;
  std::uint64_t const total;
  std::uint64_t const at_a_time;
  std::atomic<std::uint64_t> next;  // first block that nobody has taken
  int const most_helpers;           // side by side
  std::atomic<grid_end> end{grid_end::completed};
  int helpers = 0;  // guarded by the crew's mutex

  /// Runs blocks until none is left to take or one has failed.
  void work();
};

[[nodiscard]] cpu::index3 block_index_of(std::uint64_t number, cpu::index3 grid_size);

/// How many helpers the machine might give.
[[nodiscard]] int helpers_at_most();

/// Runs `blocks` with whatever help there is; returns when no thread is in any of them.
void work_with_helpers(shared_blocks& blocks);

}  // namespace flotilla::cpu_driver
