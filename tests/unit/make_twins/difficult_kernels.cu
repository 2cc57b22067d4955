// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that are difficult to turn into twins. Each kernel writes a result that depends on its
// arguments and on its block, so a twin that mixes up launches writes wrong results. Those from
// `reads_index_in_function` on get no twin.

struct padded {
  char a;
  double b;
  short c;
};

struct __align__(16) wide {
  float of[4];
};

struct table {
  int of[16];
};

struct large {
  int of[1025];  // 4100 bytes, more than a twin accepts
};

__constant__ int factors[4] = {2, 3, 5, 7};
__device__ unsigned launches_seen = 0;

// The number of this block in the grid, and of this thread in the grid.
static __device__ unsigned block_number() {
  return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
static __device__ unsigned thread_number() {
  unsigned const in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return block_number() * blockDim.x * blockDim.y * blockDim.z + in_block;
}

// Writes twelve numbers for each thread of the grid.
extern "C" __global__ void all_indices(unsigned* out) {
  unsigned* const mine = out + 12 * thread_number();
  unsigned const values[12] = {threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
                               blockIdx.y,  blockIdx.z,  blockDim.x,  blockDim.y,
                               blockDim.z,  gridDim.x,   gridDim.y,   gridDim.z};
  for (int i = 0; i < 12; ++i) { mine[i] = values[i]; }
}

// Adds 1000 * blockIdx.y, so only one of the three indices is read.
extern "C" __global__ void only_y(int* out, int n) {
  if (threadIdx.x == 0) { atomicAdd(out, n + 1000 * static_cast<int>(blockIdx.y)); }
}

// out[i] = in[last thread of the block - i] + in[i]; blocks of at most 256 threads, and shared
// memory of 4 bytes for each thread.
extern "C" __global__ void static_and_dynamic_shared(int const* in, int* out) {
  __shared__ int forward[256];
  FLOTILLA_DYNAMIC_SHARED(int, backward);
  unsigned const i = thread_number();
  forward[threadIdx.x] = in[i];
  backward[blockDim.x - 1 - threadIdx.x] = in[i];
  __syncthreads();
  out[i] = forward[threadIdx.x] + backward[threadIdx.x];
}

// Every thread writes the sum over its warp, plus the number of its block.
extern "C" __global__ void warp_sums(int const* in, int* out) {
  int sum = in[thread_number()];
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  out[thread_number()] = sum + static_cast<int>(block_number());
}

extern "C" __global__ void prints(int value, int* out) {
  if (thread_number() == 0) {
    printf("difficult_kernels prints %d of %u\n", value, gridDim.x);
    *out = value;
  }
}

// Threads from n on return before the barrier that the others do not need.
extern "C" __global__ void early_return(int* out, unsigned n) {
  if (thread_number() >= n) { return; }
  out[thread_number()] = static_cast<int>(n);
}

extern "C" __global__ void __launch_bounds__(128, 2) bounded(float* out, float a) {
  out[thread_number()] = a * static_cast<float>(blockIdx.x);
}

template <class T>
static __device__ T power(T x, int n) {
  T result = 1;
#pragma unroll 1
  for (int i = 0; i < n; ++i) { result *= x; }
  return result;
}
extern "C" __global__ void from_template(double* out, double x, int n) {
  out[thread_number()] = power(x, n) + power(static_cast<double>(blockIdx.x), 2);
}

// Parameters of every size, with padding between them.
extern "C" __global__ void padded_parameters(char a, padded p, short b, float c, char d, wide w,
                                             unsigned char e, double* out) {
  out[thread_number()] = a + p.a + p.b + p.c + b + c + d + w.of[0] + 2.0 * w.of[3] + e;
}

extern "C" __global__ void vector_parameters(char first, float4 v, int2 pair, float4* out) {
  out[thread_number()] = make_float4(v.x + first, v.y + static_cast<float>(pair.x),
                                     v.z + static_cast<float>(pair.y), v.w);
}

// Counts its blocks in a variable of the image.
extern "C" __global__ void variables(int which, int* out) {
  if (threadIdx.x == 0) { atomicAdd(&launches_seen, 1u); }
  out[thread_number()] = factors[which & 3] * static_cast<int>(gridDim.x);
}

extern "C" __global__ void no_parameters() {
  if (thread_number() == 0) { atomicAdd(&launches_seen, gridDim.x); }
}

static __device__ __attribute__((noinline)) int harmless(padded const& p, int i) {
  return p.a + static_cast<int>(p.b) + i;
}
extern "C" __global__ void calls_function(padded p, int i, int* out) {
  out[thread_number()] = harmless(p, i) + harmless(p, -2 * i);
}

// A dense switch, which nvcc may turn into a table of branches.
extern "C" __global__ void switches(int const* cases, int* out) {
  unsigned const i = thread_number();
  int value = cases[i];
  switch (value) {
    case 0: value = atomicAdd(out, 0) * 0 + 11; break;
    case 1: value = value * value + 22; break;
    case 2: value = __popc(static_cast<unsigned>(value) * 77u); break;
    case 3: value = static_cast<int>(blockIdx.x) + 3; break;
    case 4: value = static_cast<int>(gridDim.x) - 4; break;
    case 5: value = static_cast<int>(sqrtf(static_cast<float>(value))); break;
    case 6: value = static_cast<int>(threadIdx.x) ^ 6; break;
    case 7: value = factors[value & 3]; break;
    default: value = -1;
  }
  out[i + 1] = value;
}

// nvcc copies the parameter to local memory.
extern "C" __global__ void indexes_parameter(table t, int* out) {
  out[thread_number()] = t.of[(threadIdx.x + blockIdx.x) & 15];
}

extern "C" __global__ void asserts_and_allocates(int n, int* out) {
  assert(n >= 0);
  if (threadIdx.x != 0) { return; }
  int* const memory = static_cast<int*>(malloc(sizeof(int)));
  if (memory) {
    *memory = n;
    out[block_number()] = *memory;
    free(memory);
  }
}

// ---- kernels without a twin ----------------------------------------------------------------------

static __device__ __attribute__((noinline)) unsigned index_of_block() { return blockIdx.x; }
extern "C" __global__ void reads_index_in_function(unsigned* out) {
  if (threadIdx.x == 0) { out[blockIdx.x] = index_of_block(); }
}

extern "C" __global__ void indexes_constant_parameter(__grid_constant__ table const t, int* out) {
  out[thread_number()] = t.of[(threadIdx.x + blockIdx.x) & 15];
}

extern "C" __global__ void large_parameter(large l, int* out) {
  out[thread_number()] = l.of[0] + l.of[1024];
}

extern "C" __global__ void unwanted(int value, int* out) { out[thread_number()] = value; }
FLOTILLA_NO_TWIN(unwanted);
