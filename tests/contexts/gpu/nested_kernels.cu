// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that launch other kernels. This file is compiled to relocatable device code and linked
// with the device runtime library.
#include "runtime_kernels.hpp"

namespace flotilla::test {
namespace {

__device__ int volatile all_are_launched;

/// The first child kernel. It runs until the parent has launched all children, but at most 2 s. All
/// children are launched in one stream, so the others stay pending meanwhile.
__global__ void hold_the_stream() {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (all_are_launched == 0 && now - begin < 2000000000ull);
}

__global__ void child() {}

__global__ void start_children(int children, int* failed, int* first_error) {
  all_are_launched = 0;
  for (int i = 0; i < children; ++i) {
    if (i == 0) {
      hold_the_stream<<<1, 1>>>();
    } else {
      child<<<1, 1>>>();
    }
    cudaError_t const answer = cudaGetLastError();
    if (answer == cudaSuccess) { continue; }
    if (*failed == 0) { *first_error = static_cast<int>(answer); }
    ++*failed;
  }
  all_are_launched = 1;
}

}  // namespace

cudaError_t launch_children(int children, int* failed, int* first_error, cudaStream_t stream) {
  start_children<<<1, 1, 0, stream>>>(children, failed, first_error);
  return cudaGetLastError();
}

}  // namespace flotilla::test
