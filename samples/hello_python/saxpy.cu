// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// y = a x + y, one element per thread. Compiled for GPUs and for CPU devices.
extern "C" __global__ void saxpy(float a, float const* x, float* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = a * x[i] + y[i]; }
}
