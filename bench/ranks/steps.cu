// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The tasks of the benchmarks over ranks.

extern "C" __global__ void step_words(unsigned* words, unsigned count) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { words[i] += 1; }
}

extern "C" __global__ void stencil_words(unsigned* to, unsigned const* left, unsigned const* middle,
                                         unsigned const* right, unsigned count) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { to[i] = left[i] + middle[i] + right[i]; }
}

extern "C" __global__ void touch_word(unsigned* words) {
  if (threadIdx.x == 0) { words[0] += 1; }
}

extern "C" __global__ void add_one(unsigned* to, unsigned const* from) {
  if (threadIdx.x == 0) { to[0] += from[0]; }
}

extern "C" __global__ void add_two(unsigned* to, unsigned const* a, unsigned const* b) {
  if (threadIdx.x == 0) { to[0] += a[0] * b[0]; }
}
