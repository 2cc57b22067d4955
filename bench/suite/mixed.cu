// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Eight kernels that do almost nothing. Each block writes one word: out[block] is a function of
/// `value` and of the index of the block. The kernels differ in this function, so launches of
/// different kernels cannot be parts of one grid. mixed.cpp has the same functions.

extern "C" __global__ void mixed_add(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value + blockIdx.x; }
}
extern "C" __global__ void mixed_subtract(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value - blockIdx.x; }
}
extern "C" __global__ void mixed_multiply(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value * (blockIdx.x + 1); }
}
extern "C" __global__ void mixed_and(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value & ~blockIdx.x; }
}
extern "C" __global__ void mixed_or(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value | blockIdx.x; }
}
extern "C" __global__ void mixed_xor(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value ^ blockIdx.x; }
}
extern "C" __global__ void mixed_shift(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = value << (blockIdx.x % 8); }
}
extern "C" __global__ void mixed_complement(unsigned* out, unsigned value) {
  if (threadIdx.x == 0) { out[blockIdx.x] = ~(value + 3 * blockIdx.x); }
}
