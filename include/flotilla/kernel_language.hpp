#pragma once
/// The kernel language: one `.cu` source for GPUs and for CPU devices.
///
/// `flotilla_add_kernels()` includes this header before every kernel source, so a source needs no
/// `#include` of its own. nvcc already knows the language. From this header it gets only three
/// helpers, because CUDA's own forms of them do not compile with a host compiler:
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
///                __reduce_*_sync; __activemask returns the calling lane only, because lanes do
///                not run in lockstep here
///   atomics      every overload that CUDA has for sm_80 on integers, float and double, with _block
///                and _system
///   runtime      __trap, assert, printf, malloc and free, new and delete, __nanosleep,
///                __threadfence*, clock64
///   arithmetic   the math library, bit and conversion intrinsics
///
/// Differences from a GPU: the threads of a block take turns. A thread yields at barriers, warp
/// operations, __nanosleep, fences and failed atomicCAS. A thread that spins on plain memory until
/// another thread of its block has run spins forever. Shared memory is not cleared: it contains
/// whatever an earlier block left there.
///
/// Anything else that CUDA has (textures, surfaces, cooperative groups, __managed__, launches in
/// kernels, inline PTX, warp matrices, ...) is refused when the source is compiled, by name, file
/// and line. Code that is meant for GPUs alone goes between `#ifdef __CUDACC__` and `#endif`.

#if defined(FLOTILLA_KERNEL_SCAN)
// flotilla_add_kernels() searches the preprocessed source for kernels, so nothing may be replaced
// here.
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
