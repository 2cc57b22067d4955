#pragma once
/// threadIdx and the other indices, barriers of a block, and dynamic shared memory.

#include <flotilla/kernel_language/image_abi.hpp>
#include <flotilla/kernel_language/vector_types.hpp>

namespace flotilla::cpu::language {

/// The block that this OS thread runs. It is set when the threads of a block begin, and is the same
/// for all fibers of the block, so a compiler may keep a value that it read before a switch.
static thread_local constinit block_services* bound = nullptr;

inline block_services* services() { return bound; }
inline uint3 to_uint3(index3 i) { return {i.x, i.y, i.z}; }
inline dim3 to_dim3(index3 i) { return {i.x, i.y, i.z}; }
inline unsigned lane() { return services()->thread_number % warp_lanes; }

}  // namespace flotilla::cpu::language

// Macros, because a variable could not follow the running thread. They are values, because CUDA's
// are constants, too.
#define threadIdx \
  (::flotilla::cpu::language::to_uint3(::flotilla::cpu::language::services()->thread_index))
#define blockIdx \
  (::flotilla::cpu::language::to_uint3(::flotilla::cpu::language::services()->block_index))
#define blockDim \
  (::flotilla::cpu::language::to_dim3(::flotilla::cpu::language::services()->block_size))
#define gridDim \
  (::flotilla::cpu::language::to_dim3(::flotilla::cpu::language::services()->grid_size))
inline constexpr int warpSize = static_cast<int>(flotilla::cpu::warp_lanes);

/// The number of the multiprocessor that runs this block, from 0. A CPU device numbers its blocks
/// in turn, up to the number of multiprocessors that its context may use.
inline unsigned flotilla_multiprocessor() {
  return flotilla::cpu::language::services()->multiprocessor;
}

/// Defines `type* name`, the block's dynamic shared memory, 16-byte aligned.
#define FLOTILLA_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::flotilla::cpu::language::services()->dynamic_shared)

inline int __syncthreads_count(int predicate) {
  auto* s = flotilla::cpu::language::services();
  return s->sync_threads(s, predicate != 0);
}
inline void __syncthreads() { __syncthreads_count(0); }
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
// Counts the false predicates: threads that have exited have none.
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }
