// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Sets data[i] = value for all i < count. Works with any grid, because it uses a grid-stride loop.
extern "C" __global__ void fill(unsigned* data, unsigned value, unsigned long long count) {
  unsigned long long const step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    data[i] = value;
  }
}
