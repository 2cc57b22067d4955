// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The part of the kernel language that nvcc needs (see kernel_language.hpp).

// Kernel sources may use assert and printf without including a header, because the kernel language
// declares both for a host compiler. These headers declare both for nvcc. NVRTC has no headers of
// the C library, but declares both by itself.
#if !defined(__CUDACC_RTC__)
#include <assert.h>
#include <stdio.h>
#endif

/// Defines `type* name`, which points to the block's dynamic shared memory. The memory is aligned
/// to 16 bytes.
#define FLOTILLA_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char flotilla_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(flotilla_dynamic_shared)

/// Returns the number of the multiprocessor that runs this block, from 0.
__device__ __forceinline__ unsigned flotilla_multiprocessor() {
  unsigned which;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(which));
  return which;
}

/// Returns the time in nanoseconds of a clock that all blocks share. The resolution of the clock
/// may be as coarse as a microsecond.
__device__ __forceinline__ unsigned long long flotilla_globaltimer() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
