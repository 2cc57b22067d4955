// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels with printf, assert, malloc, new, trap, clocks, indices and variables.
#include <cstdio>

struct mixed {
  char c;
  double d;
};

__device__ int counter = 7;
__constant__ float coefficients[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ unsigned short volatile small, other;
static __device__ int not_found_by_name = 1;
namespace hidden {
__device__ int also_not_found = 2;
}
extern "C" {
__device__ double in_a_c_block = 0.25;
__global__ void kernel_in_a_c_block(double* out) { *out = in_a_c_block; }
}
namespace inner {
extern "C" __global__ void kernel_in_a_namespace(int* out) {
  *out = not_found_by_name + hidden::also_not_found;
}
}  // namespace inner

#ifdef __CUDACC__
extern "C" __global__ void for_gpus_alone(unsigned* out) {
  asm volatile("mov.u32 %0, %%smid;" : "=r"(*out));
}
#endif
/* extern "C" __global__ void in_a_comment() {} */
// extern "C" __global__ void in_another() {}

// These literals contain braces and quotes. The search for kernels must ignore them.
extern "C" __global__ void write_literals(char* out) {
  out[0] = '"', out[1] = '\'', out[2] = '{', out[3] = "\"}{"[1], out[4] = '\\', out[5] = "\\"[0];
  out[6] = '\x7b';
}

extern "C" __global__ void many_parameters(char a, double b, short c, float3 d, mixed e,
                                           unsigned char f, int4 g, void* out) {
  auto* const to = static_cast<double*>(out);
  to[0] = a, to[1] = b, to[2] = c, to[3] = d.z, to[4] = e.d, to[5] = f, to[6] = g.w;
}

extern "C" __global__ void __launch_bounds__(32 * 4, 2) with_bounds() {}

extern "C" __global__ void read_and_count(float* out) {
  for (int i = 0; i < 4; ++i) { out[i] = coefficients[i]; }
  counter += 1;
}

extern "C" __global__ void say(int number) {
  int const counted =
      printf("block %u thread %u: %d %s %.2f%%\n", blockIdx.x, threadIdx.x, number, "text", 1.5);
  printf("%d\n", counted);
  std::printf("plain\n");
}

extern "C" __global__ void say_much(char const* text) { printf("%s|", text); }

extern "C" __global__ void allocate(int* out) {
  int* const numbers = static_cast<int*>(malloc(100 * sizeof(int)));
  if (numbers == nullptr) {
    atomicAdd(out, 1);
    return;
  }
  for (int i = 0; i < 100; ++i) { numbers[i] = i; }
  int* const more = new int[10];
  more[9] = 1;
  delete[] more;
  free(numbers);
  free(nullptr);
}

extern "C" __global__ void allocate_and_keep(int** out) {
  *out = static_cast<int*>(malloc(sizeof(int)));
}

extern "C" __global__ void trap_in_thread(unsigned which, int* after) {
  if (threadIdx.x == which) { __trap(); }
  __syncthreads();
  atomicAdd(after, 1);
}

extern "C" __global__ void assert_less(unsigned limit, int* passed) {
  assert(threadIdx.x < limit);
  atomicAdd(passed, 1);
}

extern "C" __global__ void times(unsigned long long* out) {
  unsigned long long const start = flotilla_globaltimer();
  long long const ticks = clock64();
  while (flotilla_globaltimer() - start < 1000000) {}
  out[0] = flotilla_globaltimer() - start;
  out[1] = clock64() > ticks;
}

extern "C" __global__ void mark_all(unsigned* counts) {
  dim3 const size = gridDim;
  uint3 const at = blockIdx;
  unsigned const block = (at.z * size.y + at.y) * size.x + at.x;
  unsigned const thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  atomicAdd(counts + block * (blockDim.x * blockDim.y * blockDim.z) + thread, 1u);
}

extern "C" __global__ void slow_blocks(unsigned* counts, unsigned long long nanoseconds) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
  atomicAdd(counts + blockIdx.x, 1u);
}

extern "C" __global__ void trap_in_block(unsigned which, unsigned* ran) {
  if (blockIdx.x == which) { __trap(); }
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < 20000) {}
  atomicAdd(ran, 1u);
}

extern "C" __global__ void use_stack(int depth, int* out) {
  int numbers[512];
  for (int i = 0; i < 512; ++i) { numbers[i] = i * depth; }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 512; ++i) { sum += numbers[i]; }
  out[threadIdx.x] = sum;
}
