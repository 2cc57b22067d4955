#pragma once
// Runs a grid of a kernel: its blocks on the calling thread, and on oneTBB's workers where they
// help.

#include <cstddef>
#include <cstdint>

#include <flotilla/cpu_image.hpp>

#include "cpu_driver/loaded_image.hpp"
#include "cpu_driver/multiprocessors.hpp"

namespace flotilla::cpu_driver {

/// Where a kernel's malloc, free and printf go. Called from any thread that runs blocks of the
/// grid, several at once. `text` ends with a zero byte that `bytes` does not count.
struct grid_hooks {
  void* user;
  void* (*allocate)(void* user, std::size_t bytes);
  void (*release)(void* user, void* address);
  void (*print)(void* user, char const* text, std::size_t bytes);
};

struct grid {
  loaded_image const* image;
  cpu::kernel_record const* kernel;  // of `image`
  cpu::index3 grid_size;             // blocks, each at least 1
  cpu::index3 block_size;  // threads, each at least 1, their product at most cpu::max_block_threads
  std::uint32_t dynamic_shared_bytes;
  std::size_t stack_bytes;  // a thread's; a floor applies
  void* const* arguments;   // arguments[i]: the i-th argument's bytes, of any alignment
  grid_hooks hooks;
  // Block i runs on the multiprocessor at first_place + i of this list, which goes round. No more
  // threads than it has run blocks at a time.
  multiprocessor_set const* multiprocessors = &all_multiprocessors();
  std::uint64_t first_place = 0;

  [[nodiscard]] std::uint32_t multiprocessor_of(std::uint64_t block) const noexcept {
    return (*multiprocessors)[(first_place + block) % multiprocessors->size()];
  }
};

enum class grid_end {
  completed,
  trapped,        // __trap; or, told on stderr: a block that can never go on, no memory for stacks
  assert_failed,  // told on stderr
};

/// Runs all of it and returns when no thread runs any block of it any more. After a trap or a
/// failed assert blocks that had not begun never begin. Threads: any. Must not be called from
/// inside a kernel. Blocks: for the kernel itself, never for a worker that has not begun. Cost: no
/// allocation, no atomic and no oneTBB for one block, once this thread's fibers exist.
[[nodiscard]] grid_end run_grid(grid const& what);

}  // namespace flotilla::cpu_driver
