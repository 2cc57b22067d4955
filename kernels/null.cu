/// Kernels that do nothing or almost nothing. Benchmarks use them to measure the cost of dispatch.

extern "C" __global__ void null_kernel() {}

/// Sets *address = value. This is the smallest effect that a test can observe.
extern "C" __global__ void store(int* address, int value) { *address = value; }
