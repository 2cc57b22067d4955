/// Kernels that do nothing, or almost nothing, so that the cost of dispatching them can be
/// measured.

extern "C" __global__ void null_kernel() {}

/// *address = value: the smallest observable effect.
extern "C" __global__ void store(int* address, int value) { *address = value; }
