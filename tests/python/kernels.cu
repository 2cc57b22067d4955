// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of the tests of the Python package.
#include <flotilla/data/view.hpp>

struct pair {
  int a;
  float b;
};

__constant__ int offset = 5;

extern "C" __global__ void saxpy(float a, float const* x, float* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = a * x[i] + y[i]; }
}

extern "C" __global__ void empty() {}

// Writes each argument, so that tests see how it was converted.
extern "C" __global__ void store(double* out, bool flag, signed char c, unsigned short s, int i,
                                 unsigned long long u, float f, double d) {
  out[0] = flag;
  out[1] = c;
  out[2] = s;
  out[3] = i;
  out[4] = static_cast<double>(u);
  out[5] = f;
  out[6] = d;
}

extern "C" __global__ void store_pair(double* out, pair value) {
  out[0] = value.a;
  out[1] = value.b;
}

extern "C" __global__ void is_null(int* out, float const* pointer) { out[0] = pointer == nullptr; }

// Adds `value` to row[column].
extern "C" __global__ void add_at(int* row, int column, int value) { row[column] += value; }

extern "C" __global__ void add_offset(int* out) { out[0] += offset; }

// Waits until the host writes to `go`.
extern "C" __global__ void hold(int const* go) {
  while (*static_cast<int const volatile*>(go) == 0) {}
}

extern "C" __global__ void hold_and_add(int const* go, int* x) {
  while (*static_cast<int const volatile*>(go) == 0) {}
  x[0] += 1;
}

extern "C" __global__ void fault() { __trap(); }

// Adds 1 to each element of a matrix.
extern "C" __global__ void add_one(flotilla::view<float, 2> all) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < all.size()) { all(i / all.extents[1], i % all.extents[1]) += 1; }
}

// Adds the sum of x to *sum.
extern "C" __global__ void add_sum(float const* x, int n, float* sum) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    for (int i = 0; i < n; ++i) { *sum += x[i]; }
  }
}
