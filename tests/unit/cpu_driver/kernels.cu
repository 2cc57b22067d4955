// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels for the tests of the CPU driver.
extern "C" __global__ void nothing() {}
extern "C" __global__ void store(int* to, int value) { *to = value; }
extern "C" __global__ void increment(int* counter) { *counter += 1; }
extern "C" __global__ void count_threads(unsigned* counter) { atomicAdd(counter, 1u); }

__device__ int variable = 7;
__constant__ float factors[4] = {1, 2, 3, 4};
extern "C" __global__ void read_variable(int* to) { *to = variable; }
extern "C" __global__ void write_variable(int value) { variable = value; }

extern "C" __global__ void mixed(char a, double b, short c, long long d, double* to) {
  *to = a + b + c + d;
}

struct large {
  int values[100];
};
extern "C" __global__ void sum_large(large const all, int* to) {
  int sum = 0;
  for (int value : all.values) { sum += value; }
  *to = sum;
}

extern "C" __global__ void __launch_bounds__(64) bounded() {}
extern "C" __global__ void use_malloc(int bytes, int* got) {
  void* const p = malloc(bytes);
  *got = p != nullptr;
  if (p) { free(p); }
}
extern "C" __global__ void keep_malloc(int bytes, int* got) { *got = malloc(bytes) != nullptr; }
extern "C" __global__ void print(int value) { printf("value %d\n", value); }
extern "C" __global__ void trap() { __trap(); }
extern "C" __global__ void check(int value) { assert(value == 1); }
extern "C" __global__ void take(long long nanoseconds) {
  long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
}

// Counts in seen[m] the blocks that ran on multiprocessor m.
extern "C" __global__ void where_blocks_run(unsigned* seen) {
  if (threadIdx.x == 0) { atomicAdd(&seen[flotilla_multiprocessor()], 1u); }
}

// Adds a number that depends on the block's place to the element of the block.
extern "C" __global__ void note_place(int scale, unsigned* to) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) { sum = 0; }
  __syncthreads();
  atomicAdd(&sum, 1u);
  __syncthreads();
  unsigned const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) { to[block] += static_cast<unsigned>(scale) * (100 * sum + block); }
}
// Each block takes `*time` nanoseconds, and then adds the number of its threads and `*from`.
extern "C" __global__ void append(unsigned* to, unsigned const* from, int const* time) {
  if (threadIdx.x == 0) {
    long long const start = flotilla_globaltimer();
    while (flotilla_globaltimer() - start < *time) {}
    atomicAdd(to, *from);
  }
  __syncthreads();
  atomicAdd(to, 1u);
}

__device__ int flotilla_no_twin_nothing;
