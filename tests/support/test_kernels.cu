// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernels that tests launch. Most of them only write one value, because the tests check
// dispatch and not arithmetic.

struct words_512 {
  unsigned word[128];
};
struct words_4088 {
  unsigned word[1022];
};
struct words_4092 {
  unsigned word[1023];
};

extern "C" __global__ void nothing() {}

extern "C" __global__ void write_value(unsigned* where, unsigned value) { *where = value; }

extern "C" __global__ void add_to(unsigned* where, unsigned amount) { atomicAdd(where, amount); }

extern "C" __global__ void copy_value(unsigned* to, unsigned const* from) { *to = *from; }

// Calls with different factors and summands do not commute. So the result of a chain shows the
// order of its calls.
extern "C" __global__ void multiply_add(unsigned* where, unsigned factor, unsigned summand) {
  *where = *where * factor + summand;
}

// Sets words[0] when it starts, then waits until the host sets words[1].
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

// Does the same as the completion kernel that ends a batch on GPUs.
extern "C" __global__ void write_number(unsigned long long* where, unsigned long long number) {
#ifdef __CUDACC__
  __threadfence_system();
  *(unsigned long long volatile*)where = number;
#else
  __atomic_store_n(where, number, __ATOMIC_RELEASE);
#endif
}

// Does the same as the spin kernel of a device-side wait on GPUs.
extern "C" __global__ void await_number(unsigned long long const* counter,
                                        unsigned long long number,
                                        unsigned long long const* stopped) {
#ifdef __CUDACC__
  while (*(unsigned long long const volatile*)counter < number &&
         *(unsigned long long const volatile*)stopped == 0) {}
#else
  while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < number &&
         __atomic_load_n(stopped, __ATOMIC_ACQUIRE) == 0) {
    __nanosleep(1000);
  }
#endif
}

struct exchange_needs {
  unsigned levels[32];
};

// Does the same as the exchange kernel on GPUs (builtin_functions::exchange), in one thread.
extern "C" __global__ void exchange_words(unsigned long long* words, unsigned long long const* base,
                                          unsigned own, unsigned level, exchange_needs needs) {
  if (threadIdx.x != 0) { return; }
  constexpr unsigned words_apart = 8;
#ifdef __CUDACC__
  __threadfence_system();
  ((unsigned long long volatile*)words)[own * words_apart] = *base + level;
  for (unsigned i = 0; i < 32; ++i) {
    if (needs.levels[i] == 0) { continue; }
    while (((unsigned long long const volatile*)words)[i * words_apart] <
           *base + needs.levels[i] - 1) {}
  }
#else
  __atomic_store_n(words + own * words_apart, *base + level, __ATOMIC_RELEASE);
  for (unsigned i = 0; i < 32; ++i) {
    if (needs.levels[i] == 0) { continue; }
    while (__atomic_load_n(words + i * words_apart, __ATOMIC_ACQUIRE) <
           *base + needs.levels[i] - 1) {
      __nanosleep(1000);
    }
  }
#endif
}

extern "C" __global__ void increment_all(unsigned* values, unsigned count) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { values[i] += 1; }
}

// Each task counts in its own word: counters[id].
extern "C" __global__ void count_id(unsigned* counters, unsigned id) {
  atomicAdd(counters + id, 1u);
}

// turns[0] counts the runs. turns[1 + id] receives the position of this run: 1 for the first run.
extern "C" __global__ void take_turn(unsigned* turns, unsigned id) {
  turns[1 + id] = atomicAdd(turns, 1u) + 1;
}

// The same for each block: turns[1 + blockIdx.x] receives the position of the block.
extern "C" __global__ void note_blocks(unsigned* turns) {
  turns[1 + blockIdx.x] = atomicAdd(turns, 1u) + 1;
}

// Writes the grid dimensions to out[0..2] and the block dimensions to out[3..5]. Counts the threads
// that ran in out[6].
extern "C" __global__ void report_shape(unsigned* out) {
  if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    out[0] = gridDim.x;
    out[1] = gridDim.y;
    out[2] = gridDim.z;
    out[3] = blockDim.x;
    out[4] = blockDim.y;
    out[5] = blockDim.z;
  }
  atomicAdd(out + 6, 1u);
}

// Sums 1..blockDim.x through dynamic shared memory.
extern "C" __global__ void sum_shared(unsigned* out) {
  FLOTILLA_DYNAMIC_SHARED(unsigned, partial);
  partial[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) { sum += partial[i]; }
    *out = sum;
  }
}

extern "C" __global__ void sum_512(words_512 const values, unsigned* out) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 128; ++i) { sum += values.word[i] * (i + 1); }
  *out = sum;
}

extern "C" __global__ void sum_4088(words_4088 const values, unsigned* out) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 1022; ++i) { sum += values.word[i] * (i + 1); }
  *out = sum;
}

// 4104 bytes of arguments need more than the usual block of 4096.
extern "C" __global__ void sum_4092(words_4092 const values, unsigned* out) {
  *out = values.word[0];
}

// There is padding between the parameters, so a test notices an argument at a wrong offset.
extern "C" __global__ void mixed_parameters(char a, double b, short c, unsigned long long d,
                                            float e, double* out) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = (double)d;
  out[4] = e;
}

__device__ unsigned tally;
__constant__ unsigned factor = 3;

extern "C" __global__ void tally_up(unsigned* out) { *out = atomicAdd(&tally, factor) + factor; }

extern "C" __global__ void trap_now() { __trap(); }

// Adds 1 to *runs. Fails with the number of the block if values[block] is greater than `limit`.
extern "C" __global__ void fail_above(unsigned const* values, unsigned limit,
                                      flotilla::task_status status, unsigned* runs) {
  if (threadIdx.x != 0) { return; }
  atomicAdd(runs, 1u);
  if (values[blockIdx.x] > limit) { flotilla::fail(status, static_cast<int>(blockIdx.x)); }
}

// Fails with `code`.
extern "C" __global__ void fail_with(flotilla::task_status status, int code) {
  flotilla::fail(status, code);
}

struct words_of_fail_large {
  unsigned word[128];
};

// Fails with the sum of the words.
extern "C" __global__ void fail_large(words_of_fail_large words, flotilla::task_status status) {
  unsigned sum = 0;
  for (unsigned word : words.word) { sum += word; }
  flotilla::fail(status, static_cast<int>(sum));
}

struct sources {
  unsigned count;
  unsigned index[8];
};

// values[to] = 1 + the sum of the values at the sources.
extern "C" __global__ void add_sources(unsigned* values, unsigned to, sources from) {
  unsigned sum = 1;
  for (unsigned i = 0; i < from.count; ++i) { sum += values[from.index[i]]; }
  values[to] = sum;
}
