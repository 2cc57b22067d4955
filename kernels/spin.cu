// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Keeps each thread busy for `nanoseconds`, so that the length of a task is known. A GPU's clock
/// advances in steps of up to a microsecond.
extern "C" __global__ void spin(unsigned long long nanoseconds) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
}
