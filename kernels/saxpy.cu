// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Computes y = a x + y. One thread computes one element: launch at least `count` threads.
extern "C" __global__ void saxpy(float a, float const* x, float* y, int count) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) { y[i] = a * x[i] + y[i]; }
}
