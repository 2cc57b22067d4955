#pragma once
/// The interface between a CPU image and the CPU driver.
///
/// A CPU image is a shared object made by `flotilla_add_kernels()`: kernels compiled by the host
/// compiler for CPU devices. It exports one symbol, `flotilla_cpu_image`, of type `cpu_image`. It
/// also has an ELF note (owner "flotilla", type `image_note_type`, the ABI number as its four
/// bytes), by which the driver recognises it without running its code. The CPU driver loads a
/// private copy of the object for every context, so that `__device__` and `__constant__` variables
/// belong to the context, as on a GPU.
///
/// The threads of a block run one at a time, on fibers of one OS thread. A thread that reaches no
/// barrier runs as a plain function call: the image itself iterates over the threads
/// (`run_threads`).
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

/// Computes the result of each lane for one warp operation. It is called after all lanes have
/// arrived. `lanes[i]` is what lane i passed to `warp_step`; it is valid only if bit i of
/// `taking_part` is set.
using warp_completion = void (*)(void* const* lanes, std::uint32_t taking_part);

/// The block that an OS thread runs: its progress, and the services that kernels call. The driver
/// makes one for each OS thread that runs blocks.
struct block_services {
  index3 grid_size;      ///< gridDim, in blocks
  index3 block_size;     ///< blockDim, in threads
  index3 block_index;    ///< blockIdx
  void* dynamic_shared;  ///< the dynamic shared memory of this block, 16-byte aligned
  void* driver;          ///< for the driver only; services receive the whole struct

  // The running thread. `run_threads` sets it when it begins a thread, and the driver when it
  // resumes one.
  index3 thread_index;          ///< threadIdx
  std::uint32_t thread_number;  ///< the same as one number, x fastest

  // The progress of the block. The driver resets it before a block; `run_threads` advances it.
  std::uint32_t thread_count;  ///< threads of the block
  std::uint32_t next_thread;   ///< number of the first thread that has not begun
  index3 next_index;           ///< the same as an index
  std::uint32_t exited_count;  ///< threads that returned from the kernel
  std::uint32_t exited[max_block_threads / warp_lanes];  ///< as bits: one word per warp

  /// `__syncthreads` and its three reducing variants. Returns the number of threads that passed a
  /// true predicate. Threads that have exited count as arrived.
  int (*sync_threads)(block_services*, bool predicate);
  /// One operation of a warp. It returns after every lane of `mask` that has not exited has called
  /// it with this mask and this `complete`, and `complete` has processed what they passed as
  /// `lane`.
  void (*warp_step)(block_services*, std::uint32_t mask, void* lane, warp_completion complete);
  /// Lets other threads of the block run. Called if a kernel might be waiting for one of them.
  void (*yield)(block_services*);
  // These two do not return: they end the grid.
  void (*trap)(block_services*);
  void (*assert_failed)(block_services*, char const* expression, char const* file, unsigned line,
                        char const* function);
  int (*print)(block_services*, char const* format, std::va_list arguments);
  void* (*allocate)(block_services*,
                    std::size_t bytes);  ///< device malloc: null if the heap is full
  void (*release)(block_services*, void*);

  std::uint32_t multiprocessor;  ///< the number of the one that runs this block, from 0
};

/// One kernel.
struct kernel_record {
  char const* name;
  /// Runs threads of the block, each as a plain function call, from `next_thread` on until all have
  /// begun. `arguments[i]` points to the bytes of the i-th argument, which need no alignment. If a
  /// thread waits, the driver suspends this call and makes another one on a new fiber, which
  /// continues with the next thread.
  void (*run_threads)(block_services*, void* const* arguments);
  std::uint32_t parameter_count;
  std::uint32_t const* parameter_sizes;  ///< bytes
  std::uint32_t const*
      parameter_offsets;  ///< bytes, in the packed argument buffer, as nvcc lays it out
  std::uint32_t max_threads_per_block;  ///< from __launch_bounds__; 0: none
};

/// One `__device__` or `__constant__` variable that can be found by name.
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
