// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// The ordinal of the device, which the host writes. Every context has its own copy of this
/// variable.
__device__ unsigned here = 0;

/// Keeps one thread busy for `nanoseconds`, then writes the current time and the ordinal of the
/// device.
extern "C" __global__ void stamp(unsigned long long nanoseconds, unsigned long long* when,
                                 unsigned* where) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
  *where = here;
  *when = flotilla_globaltimer();
}
