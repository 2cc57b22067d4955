// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// One step of the Jacobi method: each element of `out` becomes the mean of the four neighbors in
/// `in`. Both fields have `width` columns, which wrap around, and a halo row before and after the
/// rows that the grid computes. One thread computes one element: launch blocks of one row in a grid
/// of (width / block, rows) blocks, rounded up.
extern "C" __global__ void jacobi(float const* in, float* out, int width) {
  int const x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x >= width) { return; }
  long long const row = (static_cast<long long>(blockIdx.y) + 1) * width;
  float const left = in[row + (x == 0 ? width - 1 : x - 1)];
  float const right = in[row + (x == width - 1 ? 0 : x + 1)];
  out[row + x] = 0.25f * ((in[row - width + x] + in[row + width + x]) + (left + right));
}
