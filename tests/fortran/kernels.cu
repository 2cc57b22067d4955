// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// values[i] = factor * values[i] + summand
extern "C" __global__ void multiply_add(double* values, int count, double factor, float summand) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) { values[i] = factor * values[i] + summand; }
}

extern "C" __global__ void write_word(long long* to, long long value) { *to = value; }
