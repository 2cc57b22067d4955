// The kernels of the tests of the statement table, for CPU devices and GPUs.

extern "C" __global__ void nothing() {}

extern "C" __global__ void put(int* where, int value) { *where = value; }

extern "C" __global__ void times_plus(int* where, int factor, int summand) {
  // Chains of it overflow: unsigned, where that is arithmetic.
  *where = (int)((unsigned)*where * (unsigned)factor + (unsigned)summand);
}

__device__ int travelling = 7;
__constant__ int fixed = 11;
extern "C" __global__ void put_travelling(int value) { travelling = value; }
extern "C" __global__ void take_travelling(int* to) { *to = travelling; }
extern "C" __global__ void take_fixed(int* to) { *to = fixed; }

// Sets words[0] when it runs, and ends when the host has set words[1].
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

// Tests whether the device's heap can allocate this many bytes in one block.
extern "C" __global__ void try_heap(unsigned long long bytes, int* got) {
  void* const block = malloc(bytes);
  *got = block != nullptr;
  if (block != nullptr) { free(block); }
}

// Prints one line per thread of the grid, long enough to fill a buffer. `tag` identifies the
// device.
extern "C" __global__ void print_lines(unsigned tag, unsigned lines) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x) {
    printf("line of %u: %08u ................................................\n", tag, i);
  }
}

// Sums 1..blockDim.x in dynamic shared memory, whose size the launch specifies.
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

// Recurses `depth` calls deep with a frame of 1 KiB per call. It is no tail call, and the compiler
// cannot remove any of it.
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

// A frame of 16 KiB in local memory, indexed so that it cannot be in registers.
extern "C" __global__ void large_frame(unsigned steps, unsigned* out) {
  unsigned frame[4096];
  for (unsigned i = 0; i < 4096; ++i) { frame[i] = i ^ steps; }
  unsigned at = threadIdx.x;
  for (unsigned i = 0; i < steps; ++i) { at = frame[(at + i) % 4096] % 4096; }
  if (blockIdx.x == 0 && threadIdx.x == 0) { *out = at; }
}

// Counts in seen[m] the blocks that ran on multiprocessor m. Blocks run for a while, so that they
// spread.
extern "C" __global__ void where_blocks_ran(unsigned* seen, unsigned count,
                                            unsigned long long nanoseconds) {
  unsigned const which = flotilla_multiprocessor();
  if (threadIdx.x == 0 && which < count) { atomicAdd(seen + which, 1u); }
  unsigned long long const begin = flotilla_globaltimer();
  while (flotilla_globaltimer() - begin < nanoseconds) {}
}

// Runs for this long and, on a CPU device, uses almost no processor time, so that the processor
// time of the process is that of its host threads.
extern "C" __global__ void doze(unsigned long long nanoseconds) {
  unsigned long long const begin = flotilla_globaltimer();
  while (flotilla_globaltimer() - begin < nanoseconds) { __nanosleep(1000000); }
}

extern "C" __global__ void trap_now() { __trap(); }
