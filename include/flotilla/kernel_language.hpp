// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The kernel language: the subset of CUDA that compiles for GPUs and for CPU devices.
///
/// `flotilla_add_kernels()` includes this header before every kernel source, so a source does not
/// have to include it. For nvcc, this header defines only one function, three helpers that replace
/// CUDA code that a host compiler does not accept, and a macro:
///
///   FLOTILLA_DYNAMIC_SHARED(type, name);   // in a kernel: `type* name`, the dynamic shared memory
///   flotilla_globaltimer()                 // nanoseconds of a clock that all blocks share
///   flotilla_multiprocessor()              // number of this block's multiprocessor, from 0
///   flotilla::fail(status, code)           // makes the task fail (see fail.hpp)
///   FLOTILLA_NO_TWIN(kernel);              // outside functions: no twin (see no_twin.hpp)
///
/// A host compiler (g++ 12, clang 16 or later) gets the whole language:
///
///   qualifiers   __global__ __device__ __host__ __constant__ __shared__ __forceinline__
///                __launch_bounds__ __align__ __grid_constant__ __restrict__
///   indices      threadIdx blockIdx blockDim gridDim warpSize; dim3, the vector types with make_*
///   barriers     __syncthreads, _count, _and, _or; __syncwarp
///   warps        __shfl_*_sync, __ballot_sync, __any_sync, __all_sync, __match_*_sync,
///                __reduce_*_sync; __activemask, which returns only the calling lane because the
///                lanes of a CPU device do not run in lockstep
///   atomics      all overloads that CUDA has for sm_80 on integers, float and double, and the
///                variants with _block and _system
///   runtime      __trap, assert, printf, malloc and free, new and delete, __nanosleep,
///                __threadfence*, clock64
///   arithmetic   the math library, bit and conversion intrinsics
///
/// CPU devices differ from GPUs: the threads of a block take turns. A thread yields to other
/// threads of its block only at barriers, warp operations, fences, __nanosleep, a failed atomicCAS,
/// and an atomicExch that changes nothing. A thread must not poll plain memory without one of these
/// operations: the other threads of its block would never run, and the kernel would hang. Shared
/// memory is not cleared: a block can see the values of an earlier block.
///
/// Other features of CUDA (textures, surfaces, cooperative groups, __managed__, launches in
/// kernels, inline PTX, warp matrices, ...) do not compile. The error names the feature, the file
/// and the line. Put code that is only for GPUs between `#ifdef __CUDACC__` and `#endif`, or
/// compile the whole source with the option GPU_ONLY of `flotilla_add_kernels()`.

#if defined(FLOTILLA_KERNEL_SCAN)
// flotilla_add_kernels() defines FLOTILLA_KERNEL_SCAN when it preprocesses a source to search it
// for qualifiers such as __global__. The macros of qualifiers.hpp would remove these qualifiers.
#elif defined(__CUDACC__)
#include <flotilla/kernel_language/fail.hpp>
#include <flotilla/kernel_language/for_nvcc.hpp>
#include <flotilla/kernel_language/no_twin.hpp>
#else
#include <flotilla/kernel_language/atomics.hpp>
#include <flotilla/kernel_language/device_runtime.hpp>
#include <flotilla/kernel_language/indices.hpp>
#include <flotilla/kernel_language/intrinsics.hpp>
#include <flotilla/kernel_language/no_twin.hpp>
#include <flotilla/kernel_language/qualifiers.hpp>
// fail.hpp uses a qualifier.
#include <flotilla/kernel_language/fail.hpp>
#include <flotilla/kernel_language/vector_types.hpp>
#include <flotilla/kernel_language/warp.hpp>
#endif
