// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Replaces each value by a weighted mean of the value and its two neighbours. The first and the
// last value do not change.
extern "C" __global__ void smooth(float const* from, float* to, unsigned count) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  bool const edge = i == 0 || i + 1 == count;
  to[i] = edge ? from[i] : 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
}
