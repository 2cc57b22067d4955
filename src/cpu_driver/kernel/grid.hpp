#pragma once
// Runs the blocks of a grid on the calling thread, and on oneTBB's workers if that is faster.

#include <cstddef>
#include <cstdint>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/kernel/loaded_image.hpp"
#include "cpu_driver/properties/multiprocessors.hpp"

namespace flotilla::cpu_driver {

/// Implement a kernel's malloc, free and printf. Any thread that runs blocks of the grid calls
/// them, several at a time. `text` ends with a zero byte that `bytes` does not count.
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
  std::size_t stack_bytes;  // of a thread; there is a minimum
  void* const* arguments;   // arguments[i]: the i-th argument's bytes, of any alignment
  grid_hooks hooks;
  // Block i runs on the multiprocessor at first_place + i of this list, modulo its size. Its size
  // also limits the number of threads that run blocks at a time.
  multiprocessor_set const* multiprocessors = &all_multiprocessors();
  std::uint64_t first_place = 0;

  [[nodiscard]] std::uint32_t multiprocessor_of(std::uint64_t block) const noexcept {
    return (*multiprocessors)[(first_place + block) % multiprocessors->size()];
  }
};

enum class grid_end {
  completed,
  trapped,        // __trap, a deadlocked block, or no memory for stacks; a message is on stderr
  assert_failed,  // a message is on stderr
};

/// Runs the grid and returns when no thread runs any of its blocks. After a trap or a failed assert
/// no further blocks begin. Threads: any, but not from inside a kernel. Blocks: for the kernel
/// itself, never for a worker that has not begun. Cost: for a grid of one block no allocation, no
/// atomic operation and no use of oneTBB, once this thread's fibers exist.
[[nodiscard]] grid_end run_grid(grid const& what);

}  // namespace flotilla::cpu_driver
