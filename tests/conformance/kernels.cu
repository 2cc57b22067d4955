// The kernels that transcripts launch. Their effects are visible to the host. Names, parameters and
// effects are fixed, because other programs load them by name.

/// Does nothing.
extern "C" __global__ void null_kernel() {}

/// *to = value.
extern "C" __global__ void store(int* to, int value) { *to = value; }

/// A variable of the module: each context has its own copy, which all threads see that have the
/// context current.
__device__ int travelling_global = 7;
extern "C" __global__ void read_global(int* to) { *to = travelling_global; }
extern "C" __global__ void write_global(int value) { travelling_global = value; }

/// Allocates 1 KiB of the device's heap and frees it. *got: whether the allocation succeeded.
extern "C" __global__ void use_malloc(int* got) {
  void* const taken = malloc(1024);
  *got = taken != nullptr ? 1 : 0;
  if (taken != nullptr) { free(taken); }
}

/// Faults.
extern "C" __global__ void trap_kernel() { __trap(); }

// Kernels that only our transcript launches.

/// Prints `value`; it appears on the standard output when the host next waits for the context.
extern "C" __global__ void print_value(int value) { printf("a kernel printed %d\n", value); }

/// *total += values[0] + ... + values[count - 1], by one thread.
extern "C" __global__ void add_up(int const* values, int count, int* total) {
  for (int i = 0; i < count; ++i) { *total += values[i]; }
}
