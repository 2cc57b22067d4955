// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes the number of Collatz steps from a number to 1. One step halves an even number, or
// triples an odd number and adds 1.
extern "C" __global__ void collatz_steps(unsigned number, unsigned* steps) {
  unsigned long long value = number;
  unsigned taken = 0;
  while (value > 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++taken;
  }
  *steps = taken;
}
