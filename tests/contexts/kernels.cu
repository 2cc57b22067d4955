// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of the tests of docs/contexts.md, for CPU devices and GPUs.

extern "C" __global__ void nothing() {}

extern "C" __global__ void put(int* where, int value) { *where = value; }

extern "C" __global__ void times_plus(int* where, int factor, int summand) {
  // The value overflows after some calls. Overflow of unsigned integers has defined behaviour.
  *where = (int)((unsigned)*where * (unsigned)factor + (unsigned)summand);
}

__device__ int travelling = 7;
__constant__ int fixed = 11;
extern "C" __global__ void put_travelling(int value) { travelling = value; }
extern "C" __global__ void take_travelling(int* to) { *to = travelling; }
extern "C" __global__ void take_fixed(int* to) { *to = fixed; }

// Sets words[0] to 1, then waits until the host sets words[1].
extern "C" __global__ void hold_until(unsigned* words) {
#ifdef __CUDACC__
  *(unsigned volatile*)words = 1;
  __threadfence_system();
  while (*(unsigned const volatile*)(words + 1) == 0) { __nanosleep(1000); }
#else
  __atomic_store_n(words, 1u, __ATOMIC_RELEASE);
  while (__atomic_load_n(words + 1, __ATOMIC_ACQUIRE) == 0) { __nanosleep(1000); }
#endif
}

// Sets *got to 1 if the device heap can allocate a block of `bytes` bytes, else to 0.
extern "C" __global__ void try_heap(unsigned long long bytes, int* got) {
  void* const block = malloc(bytes);
  *got = block != nullptr;
  if (block != nullptr) { free(block); }
}

// Prints `lines` lines, which are long in order to fill the printf buffer. Each line contains
// `tag`, so that a test can recognize the line.
extern "C" __global__ void print_lines(unsigned tag, unsigned lines) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x) {
    printf("line of %u: %08u ................................................\n", tag, i);
  }
}

// Computes the sum of the numbers from 1 to `words` in dynamic shared memory.
extern "C" __global__ void sum_shared(unsigned words, unsigned* out) {
  FLOTILLA_DYNAMIC_SHARED(unsigned, all);
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) { all[i] = i + 1; }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < words; ++i) { sum += all[i]; }
    *out = sum;
  }
}

// Recurses `depth` times with a stack frame of 1 KiB per call. The volatile accesses and the
// addition after the call keep the compiler from removing frames or making a tail call.
#ifdef __CUDACC__
#define FLOTILLA_TEST_NOINLINE __noinline__
#else
#define FLOTILLA_TEST_NOINLINE __attribute__((noinline))
#endif
static __device__ FLOTILLA_TEST_NOINLINE unsigned deep(unsigned depth, unsigned volatile* seed) {
  unsigned volatile frame[256];
  for (unsigned i = 0; i < 256; ++i) { frame[i] = *seed + i; }
  unsigned const below = depth == 0 ? 0 : deep(depth - 1, seed);
  return below + frame[depth % 256];
}
extern "C" __global__ void recurse(unsigned depth, unsigned* out) {
  unsigned volatile seed = 1;
  *out = deep(depth, &seed);
}

// Uses 16 KiB of local memory per thread. The index into the array is not a constant, so the
// compiler cannot keep the array in registers.
extern "C" __global__ void large_frame(unsigned steps, unsigned* out) {
  unsigned frame[4096];
  for (unsigned i = 0; i < 4096; ++i) { frame[i] = i ^ steps; }
  unsigned at = threadIdx.x;
  for (unsigned i = 0; i < steps; ++i) { at = frame[(at + i) % 4096] % 4096; }
  if (blockIdx.x == 0 && threadIdx.x == 0) { *out = at; }
}

// Counts in seen[m] the blocks that ran on multiprocessor m. Each block runs for `nanoseconds`, so
// that the blocks are spread over all multiprocessors.
extern "C" __global__ void where_blocks_ran(unsigned* seen, unsigned count,
                                            unsigned long long nanoseconds) {
  unsigned const which = flotilla_multiprocessor();
  if (threadIdx.x == 0 && which < count) { atomicAdd(seen + which, 1u); }
  unsigned long long const begin = flotilla_globaltimer();
  while (flotilla_globaltimer() - begin < nanoseconds) {}
}

// Runs for `nanoseconds`. On a CPU device the kernel sleeps, so almost all processor time of the
// process is used by the host threads that wait.
extern "C" __global__ void doze(unsigned long long nanoseconds) {
  unsigned long long const begin = flotilla_globaltimer();
  while (flotilla_globaltimer() - begin < nanoseconds) { __nanosleep(1000000); }
}

// Follows `warm` + `steps` pointers through the ring. ring[i] is the index of the next word. Writes
// the duration of the last `steps` steps in nanoseconds to out[0], and the last index to out[1].
extern "C" __global__ void chase(unsigned const* ring, unsigned warm, unsigned steps,
                                 unsigned long long* out) {
  unsigned at = 0;
  for (unsigned i = 0; i < warm; ++i) { at = ring[at]; }
  unsigned long long const begin = flotilla_globaltimer();
  // The duration must not be taken before the last step has ended, so the next reading of the timer
  // depends on the index.
  for (unsigned i = 0; i < steps; ++i) { at = ring[at]; }
  unsigned long long const end = at == ~0u ? 0 : flotilla_globaltimer();
  out[0] = end - begin;
  out[1] = at;
}

// One MiB of module data. A kernel uses it, so the compiler keeps it.
__device__ unsigned ballast[1u << 18];
extern "C" __global__ void use_ballast(unsigned at, unsigned* out) {
  ballast[at % (1u << 18)] += 1;
  *out = ballast[at % (1u << 18)];
}

extern "C" __global__ void trap_now() { __trap(); }
