// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
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
  cpu::kernel_record const* kernel;  // a kernel of `image`, or the twin of such a kernel
  cpu::index3 grid_size;             // number of blocks; each dimension is at least 1
  /// Threads per block. Each dimension is at least 1. The product of the dimensions is at most
  /// cpu::max_block_threads.
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  std::size_t stack_bytes;  // for each thread; smaller values are raised to a minimum
  void* const* arguments;   // arguments[i] points to argument i, which may be unaligned
  grid_hooks hooks;
  // Block i runs on multiprocessor (*multiprocessors)[(first_place + i) % n], where n is the size
  // of the set. At most n threads run blocks of this grid at the same time.
  multiprocessor_set const* multiprocessors = &all_multiprocessors();
  std::uint64_t first_place = 0;
  // If `kernel` is a twin: the kernel whose threads run. Otherwise null.
  cpu::kernel_record const* twin_of = nullptr;
  bool ordered = false;   // whether `kernel` is an ordered twin
  bool reversed = false;  // whether the last block runs first
  int device = 0;         // the number of the CPU device, for messages

  /// Returns the number of the block that runs n-th.
  [[nodiscard]] std::uint64_t nth_block(std::uint64_t n, std::uint64_t total) const noexcept {
    return reversed ? total - 1 - n : n;
  }
  [[nodiscard]] std::uint32_t multiprocessor_of(std::uint64_t block) const noexcept {
    return (*multiprocessors)[(first_place + block) % multiprocessors->size()];
  }
};

enum class grid_end {
  completed,
  trapped,        // by __trap, an invalid warp mask, a deadlock, or lack of memory
  assert_failed,  // the message is on stderr
};

/// Runs the grid. Returns when no thread runs a block of the grid any more. After a trap or a
/// failed assert, no further blocks start. May be called on any thread, but not inside a kernel.
/// Waits for workers that are helping, but not for workers that have not started. A grid of one
/// block needs no atomic operation and no oneTBB. It also needs no allocation if earlier blocks on
/// this thread needed as much memory.
[[nodiscard]] grid_end run_grid(grid const& what);

}  // namespace flotilla::cpu_driver
