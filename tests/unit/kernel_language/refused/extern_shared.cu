// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: extern_shared.cu:6: error: extern __shared__ .*FLOTILLA_DYNAMIC_SHARED
extern "C" __global__ void kernel(float* out) {
  extern __shared__ float memory[];
  *out = memory[0];
}
