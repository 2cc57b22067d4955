// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CUDA's qualifiers for a host compiler.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)  // flotilla_add_kernels() reads the number from the source
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))

/// A thread-local variable works as shared memory: all threads of a block run on one OS thread, and
/// this OS thread runs one block at a time.
#define __shared__ static thread_local
