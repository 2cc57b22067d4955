// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of docs/kernels.md.
#include "recipe_types.hpp"

struct only_here {
  int number;
};

extern "C" __global__ void evaluate(line f, float const* __restrict__ x, float* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = f.slope * x[i] + f.offset; }
}

// The host does not know the type of the parameter, so there is no handle for this kernel.
extern "C" __global__ void without_handle(only_here* where) { where->number = 1; }
