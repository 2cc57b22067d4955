#pragma once
/// The kernel language: one `.cu` source for GPUs and for CPU devices.
///
/// `flotilla_add_kernels()` includes this header before every kernel source, which therefore needs
/// no `#include` of its own. nvcc knows the language already and gets from here only the three
/// helpers for which CUDA has no form that a host compiler could take:
///
///   FLOTILLA_DYNAMIC_SHARED(type, name);   // in a kernel: `type* name`, the dynamic shared memory
///   flotilla_globaltimer()                 // nanoseconds, of a clock that all blocks share
///   flotilla_multiprocessor()              // which multiprocessor runs this block, from 0
///
/// A host compiler (g++ 12, clang 16 or later) gets the language itself:
///
///   qualifiers   __global__ __device__ __host__ __constant__ __shared__ __forceinline__
///                __launch_bounds__ __align__ __grid_constant__ __restrict__
///   indices      threadIdx blockIdx blockDim gridDim warpSize; dim3, the vector types with make_*
///   barriers     __syncthreads, _count, _and, _or; __syncwarp
///   warps        __shfl_*_sync, __ballot_sync, __any_sync, __all_sync, __match_*_sync,
///                __reduce_*_sync; __activemask, which names the calling lane alone, for lanes do
///                not run in step here
///   atomics      every overload that CUDA has for sm_80 on integers, float and double, with _block
///                and _system
///   runtime      __trap, assert, printf, malloc and free, new and delete, __nanosleep,
///                __threadfence*, clock64
///   arithmetic   the math library, bit and conversion intrinsics
///
/// What differs from a GPU: the threads of a block take turns, at barriers, warp operations,
/// __nanosleep, fences and failed atomicCAS. A thread that spins on plain memory until another
/// thread of its block has run would spin for ever. Shared memory is not cleared, and has whatever
/// an earlier block left.
///
/// Anything else that CUDA has (textures, surfaces, cooperative groups, __managed__, launches in
/// kernels, inline PTX, warp matrices, ...) is refused when the source is compiled, by name, file
/// and line. Code that is meant for GPUs alone goes between `#ifdef __CUDACC__` and `#endif`.

#if defined(FLOTILLA_KERNEL_SCAN)
// flotilla_add_kernels() looks for kernels in the preprocessed source: here nothing must be
// replaced.
#elif defined(__CUDACC__)
#include <flotilla/kernel_language/for_nvcc.hpp>
#else
#include <flotilla/kernel_language/atomics.hpp>
#include <flotilla/kernel_language/device_runtime.hpp>
#include <flotilla/kernel_language/indices.hpp>
#include <flotilla/kernel_language/intrinsics.hpp>
#include <flotilla/kernel_language/qualifiers.hpp>
#include <flotilla/kernel_language/vector_types.hpp>
#include <flotilla/kernel_language/warp.hpp>
#endif
