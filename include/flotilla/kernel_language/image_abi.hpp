// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface between a CPU image and the CPU driver.
///
/// A CPU image is a shared object made by `flotilla_add_kernels()`. It contains kernels that the
/// host compiler compiled for CPU devices. It exports one symbol, `flotilla_cpu_image`, of type
/// `cpu_image`. It also has an ELF note: the owner is "flotilla", the type is `image_note_type`,
/// and the value is the ABI number in four bytes. The CPU driver uses the note to recognize an
/// image without running its code. The driver loads a private copy of the object for every context,
/// so that each context has its own `__device__` and `__constant__` variables, as on a GPU.
///
/// The threads of a block run one at a time, on fibers of one OS thread. A fiber calls
/// `run_threads` of the image, which runs one thread after another as plain function calls. A new
/// fiber is needed only when a thread must wait, for example at a barrier.
///
/// Only the CPU driver and the kernel language headers need this file.

#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace flotilla::cpu {

inline constexpr std::uint32_t warp_lanes = 32;
inline constexpr std::uint32_t max_block_threads = 1024;
inline constexpr std::uint32_t image_note_type = 1;

struct index3 {
  std::uint32_t x, y, z;
};

/// Computes the results of all lanes for one warp operation. The driver calls this function after
/// all lanes have arrived. `lanes[i]` is the argument `lane` that lane i passed to `warp_step`, and
/// is valid only if bit i of `taking_part` is set.
using warp_completion = void (*)(void* const* lanes, std::uint32_t taking_part);

/// The state of the block that an OS thread runs, and the services that kernels call. The driver
/// makes one such struct for each OS thread that runs blocks.
struct block_services {
  index3 grid_size;      ///< gridDim, in blocks
  index3 block_size;     ///< blockDim, in threads
  index3 block_index;    ///< blockIdx
  void* dynamic_shared;  ///< the dynamic shared memory of this block, 16-byte aligned
  void* driver;          ///< for the driver only

  // The running thread. `run_threads` sets these members when a thread begins. The driver sets them
  // when it resumes a thread.
  index3 thread_index;          ///< threadIdx
  std::uint32_t thread_number;  ///< the index as one number; x varies fastest

  // The progress of the block. The driver resets these members before each block, and `run_threads`
  // updates them.
  std::uint32_t thread_count;  ///< number of threads in the block
  std::uint32_t next_thread;   ///< number of the first thread that has not begun
  index3 next_index;           ///< index of the first thread that has not begun
  std::uint32_t exited_count;  ///< number of threads that have returned from the kernel
  std::uint32_t exited[max_block_threads / warp_lanes];  ///< these threads as bits, a word per warp

  /// Implements `__syncthreads` and its three reducing variants. Returns the number of threads with
  /// a true predicate. Threads that have exited count as arrived.
  int (*sync_threads)(block_services*, bool predicate);
  /// Performs one operation of a warp. Every lane in `mask` that has not exited must call this
  /// function with the same `mask` and `complete`. The calls return after all of these lanes have
  /// arrived and `complete` has computed the results.
  void (*warp_step)(block_services*, std::uint32_t mask, void* lane, warp_completion complete);
  /// Lets other threads of the block run. The kernel language calls this function in operations
  /// that a kernel may use to wait for another thread, such as a failed atomicCAS.
  void (*yield)(block_services*);
  // The next two functions end the grid and do not return.
  void (*trap)(block_services*);
  void (*assert_failed)(block_services*, char const* expression, char const* file, unsigned line,
                        char const* function);
  int (*print)(block_services*, char const* format, std::va_list arguments);
  void* (*allocate)(block_services*,
                    std::size_t bytes);  ///< malloc in kernels; null if the heap is full
  void (*release)(block_services*, void*);

  std::uint32_t multiprocessor;  ///< number of the multiprocessor that runs this block, from 0
};

/// One kernel.
struct kernel_record {
  char const* name;
  /// Runs the threads of the block that have not begun, one after another, as plain function calls.
  /// `arguments[i]` points to the bytes of the i-th argument, which may be unaligned. If a thread
  /// must wait, the driver suspends this call and makes a second call on a new fiber. The second
  /// call continues with the next thread.
  void (*run_threads)(block_services*, void* const* arguments);
  std::uint32_t parameter_count;
  std::uint32_t const* parameter_sizes;  ///< bytes
  std::uint32_t const*
      parameter_offsets;  ///< bytes; the layout of the argument buffer is the same as nvcc's
  std::uint32_t max_threads_per_block;  ///< from __launch_bounds__; 0 if the kernel has none
};

/// One `__device__` or `__constant__` variable of the image.
struct global_record {
  char const* name;
  void* address;
  std::size_t bytes;
};

struct cpu_image {
  static constexpr std::uint32_t current_abi = 2;
  std::uint32_t abi;
  std::uint32_t kernel_count;
  kernel_record const* kernels;
  std::uint32_t global_count;
  global_record const* globals;
};

}  // namespace flotilla::cpu
