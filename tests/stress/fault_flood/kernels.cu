// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of a flood with one task that faults. Each fault has a kernel of its own, so that the
// error text shows whether the right kernel is suspected.

#if defined(__CUDACC__)
#include <cassert>
#endif

extern "C" __global__ void count_up(unsigned* count) { atomicAdd(count, 1u); }
extern "C" __global__ void count_down(unsigned* count) { atomicSub(count, 1u); }

extern "C" __global__ void fault_trap() { __trap(); }
extern "C" __global__ void fault_assert(int zero) { assert(zero != 0); }

// `address` is not mapped.
extern "C" __global__ void fault_illegal_address(unsigned* address) { *address = 1; }

// `memory` is aligned to 8 bytes.
extern "C" __global__ void fault_misaligned_address(char* memory) {
  *reinterpret_cast<unsigned long long volatile*>(memory + 1) = 1;
}

// Each level needs a frame of its own, because its result depends on the memory of the level.
static __device__ unsigned recurse(unsigned depth, unsigned volatile* caller) {
  unsigned volatile frame[256];
  frame[depth % 256] = depth + caller[0];
  if (depth == 0) { return frame[0]; }
  return recurse(depth - 1, frame) + frame[(depth + 1) % 256];
}
// Needs much more stack than a thread has, if `depth` is large.
extern "C" __global__ void fault_stack_overflow(unsigned depth, unsigned* out) {
  unsigned volatile start[1] = {depth};
  *out = recurse(depth, start);
}
