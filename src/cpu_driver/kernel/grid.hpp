#pragma once
// Runs the blocks of a grid on the calling thread, and also on oneTBB workers if that is faster.

#include <cstddef>
#include <cstdint>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/kernel/loaded_image.hpp"
#include "cpu_driver/properties/multiprocessors.hpp"

namespace flotilla::cpu_driver {

/// The functions that implement malloc, free and printf of a kernel. The threads that run blocks of
/// the grid call these functions concurrently.
struct grid_hooks {
  void* user;
  void* (*allocate)(void* user, std::size_t bytes);
  void (*release)(void* user, void* address);
  /// `text` ends with a zero byte that `bytes` does not count.
  void (*print)(void* user, char const* text, std::size_t bytes);
};

struct grid {
  loaded_image const* image;
  cpu::kernel_record const* kernel;  // a kernel of `image`
  cpu::index3 grid_size;             // number of blocks; each dimension is at least 1
  /// Number of threads. Each dimension is at least 1, the product at most cpu::max_block_threads.
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  std::size_t stack_bytes;  // for each thread; small values are raised to a minimum
  void* const* arguments;   // arguments[i] points to argument i, which may be unaligned
  grid_hooks hooks;
  // Block i runs on multiprocessor (*multiprocessors)[(first_place + i) % size]. At most `size`
  // threads run blocks of this grid at a time.
  multiprocessor_set const* multiprocessors = &all_multiprocessors();
  std::uint64_t first_place = 0;

  [[nodiscard]] std::uint32_t multiprocessor_of(std::uint64_t block) const noexcept {
    return (*multiprocessors)[(first_place + block) % multiprocessors->size()];
  }
};

enum class grid_end {
  completed,
  trapped,        // by __trap, an invalid warp mask, a deadlock, or lack of memory
  assert_failed,  // the message is on stderr
};

/// Runs the grid. Returns when no thread runs a block of the grid. After a trap or a failed assert,
/// no further blocks start. May be called on any thread, but not inside a kernel. Waits for helping
/// workers, but not for a worker that has not started. If this thread has run blocks before, a grid
/// of one block needs no allocation, no atomic operation and no oneTBB.
[[nodiscard]] grid_end run_grid(grid const& what);

}  // namespace flotilla::cpu_driver
