// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Kernels that do nothing or almost nothing. Benchmarks use them to measure the cost of dispatch.

extern "C" __global__ void null_kernel() {}

/// Sets *address = value. A test can observe this effect.
extern "C" __global__ void store(int* address, int value) { *address = value; }
