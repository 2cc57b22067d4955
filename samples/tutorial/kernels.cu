// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of the tutorial. The build compiles them for GPUs and for CPU devices.

// out = in * in
extern "C" __global__ void square(int const* in, int* out, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[i] = in[i] * in[i]; }
}

// out = a + b
extern "C" __global__ void add(int const* a, int const* b, int* out, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[i] = a[i] + b[i]; }
}

// x = x + amount
extern "C" __global__ void increase(int* x, int amount, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] += amount; }
}

// out = 100 / in. Fails with the code 7 if an element is 0.
extern "C" __global__ void divide(int const* in, int* out, int n, flotilla::task_status status) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) { return; }
  if (in[i] == 0) {
    flotilla::fail(status, 7);
  } else {
    out[i] = 100 / in[i];
  }
}
