// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Indices such as threadIdx, barriers of a block, and dynamic shared memory.

#include <flotilla/kernel_language/image_abi.hpp>
#include <flotilla/kernel_language/vector_types.hpp>

namespace flotilla::cpu::language {

/// The block that this OS thread runs. `run_threads` sets this variable. The value is the same for
/// all fibers of the block. So it does no harm if the compiler reads the variable before a switch
/// to another fiber and uses the value afterwards.
static thread_local constinit block_services* bound = nullptr;

inline block_services* services() { return bound; }
inline uint3 to_uint3(index3 i) { return {i.x, i.y, i.z}; }
inline dim3 to_dim3(index3 i) { return {i.x, i.y, i.z}; }
inline unsigned lane() { return services()->thread_number % warp_lanes; }

}  // namespace flotilla::cpu::language

// These indices are macros, because a variable would not change when another thread of the block
// runs. Each macro expands to an rvalue, so that kernels cannot assign to an index, as in CUDA.
#define threadIdx \
  (::flotilla::cpu::language::to_uint3(::flotilla::cpu::language::services()->thread_index))
#define blockIdx \
  (::flotilla::cpu::language::to_uint3(::flotilla::cpu::language::services()->block_index))
#define blockDim \
  (::flotilla::cpu::language::to_dim3(::flotilla::cpu::language::services()->block_size))
#define gridDim \
  (::flotilla::cpu::language::to_dim3(::flotilla::cpu::language::services()->grid_size))
inline constexpr int warpSize = static_cast<int>(flotilla::cpu::warp_lanes);

/// Returns the number of the multiprocessor that runs this block, from 0. If the context may use n
/// multiprocessors, a CPU device gives the blocks of a grid the numbers 0 to n - 1 in turn.
inline unsigned flotilla_multiprocessor() {
  return flotilla::cpu::language::services()->multiprocessor;
}

/// Defines `type* name`, which points to the block's dynamic shared memory. The memory is aligned
/// to 16 bytes.
#define FLOTILLA_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::flotilla::cpu::language::services()->dynamic_shared)

inline int __syncthreads_count(int predicate) {
  auto* s = flotilla::cpu::language::services();
  return s->sync_threads(s, predicate != 0);
}
inline void __syncthreads() { __syncthreads_count(0); }
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
// Counts false predicates, because threads that have exited must count as true.
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }
