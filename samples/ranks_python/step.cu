// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Heat in a ring of metal, as whole units, so that none gets lost by rounding.

/// Computes the next step of a band of n cells, between the bands to its left and right. Each cell
/// gives a quarter of its heat to each of its neighbours.
extern "C" __global__ void heat_step(unsigned const* left, unsigned const* here,
                                     unsigned const* right, unsigned* next, unsigned n) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) { return; }
  unsigned const before = i == 0 ? left[n - 1] : here[i - 1];
  unsigned const behind = i == n - 1 ? right[0] : here[i + 1];
  next[i] = here[i] - 2 * (here[i] / 4) + before / 4 + behind / 4;
}
