// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// One step of the heat equation in a band of n cells, between the bands before and behind it.
extern "C" __global__ void step(float const* before, float const* here, float const* behind,
                                float* next, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) { return; }
  float const left = i == 0 ? before[n - 1] : here[i - 1];
  float const right = i == n - 1 ? behind[0] : here[i + 1];
  next[i] = here[i] + 0.25f * (left - 2 * here[i] + right);
}
