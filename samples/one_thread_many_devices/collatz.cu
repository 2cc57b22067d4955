// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes the number of Collatz steps from each number to 1. One step halves an even number, or
// triples an odd number and adds 1. The kernel uses only integers, so its results are easy to
// check.
extern "C" __global__ void collatz_steps(unsigned first, unsigned count, unsigned* steps) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  unsigned long long value = first + i;
  unsigned taken = 0;
  while (value > 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++taken;
  }
  steps[i] = taken;
}
