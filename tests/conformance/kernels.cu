// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that the sections launch. Other programs load these kernels by name. So their names,
// parameters and effects must not change.

/// Does nothing.
extern "C" __global__ void null_kernel() {}

/// Writes `value` to *to.
extern "C" __global__ void store(int* to, int value) { *to = value; }

/// A variable of the module. Each context has its own copy, which all threads in that context
/// share.
__device__ int travelling_global = 7;
extern "C" __global__ void read_global(int* to) { *to = travelling_global; }
extern "C" __global__ void write_global(int value) { travelling_global = value; }

/// Allocates and frees 1 KiB of the device's heap. Sets *got to 1 if the allocation succeeded, else
/// to 0.
extern "C" __global__ void use_malloc(int* got) {
  void* const taken = malloc(1024);
  *got = taken != nullptr ? 1 : 0;
  if (taken != nullptr) { free(taken); }
}

/// Faults.
extern "C" __global__ void trap_kernel() { __trap(); }

// Only the sections of this program use the following kernels.

/// Prints `value`. The text appears on the standard output when the host next waits for the
/// context.
extern "C" __global__ void print_value(int value) { printf("a kernel printed %d\n", value); }

/// Adds values[0] + ... + values[count - 1] to *total, in one thread.
extern "C" __global__ void add_up(int const* values, int count, int* total) {
  for (int i = 0; i < count; ++i) { *total += values[i]; }
}
