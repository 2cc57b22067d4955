// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels with features of CUDA that CPU devices do not have. Only nvcc compiles this file.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cub/block/block_reduce.cuh>

namespace groups = cooperative_groups;

extern "C" __global__ void half_axpy(half a, half const* x, half* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = __hfma(a, x[i], y[i]); }
}

extern "C" __global__ void bfloat_double(__nv_bfloat16 const* x, float* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = 2.0f * __bfloat162float(x[i]); }
}

// One block of 256 threads.
extern "C" __global__ void cub_sum(int const* x, int* sum) {
  using reduce = cub::BlockReduce<int, 256>;
  __shared__ typename reduce::TempStorage storage;
  int const total = reduce(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) { *sum = total; }
}

// A cooperative grid. Every block reads what all other blocks wrote before the barrier.
extern "C" __global__ void grid_rotate(unsigned* written, unsigned* read) {
  groups::grid_group const grid = groups::this_grid();
  if (threadIdx.x == 0) { written[blockIdx.x] = blockIdx.x; }
  grid.sync();
  if (threadIdx.x == 0) { read[blockIdx.x] = written[(blockIdx.x + 1) % gridDim.x]; }
}

// One warp multiplies two matrices of 16 x 16.
extern "C" __global__ void warp_multiply(half const* a, half const* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> left;
  fragment<matrix_b, 16, 16, 16, half, row_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, a, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
}

// Writes the number that the next block of the cluster has in its shared memory.
static __device__ void write_of_neighbor(unsigned* out) {
  __shared__ unsigned mine;
  groups::cluster_group const cluster = groups::this_cluster();
  unsigned const rank = cluster.block_rank();
  if (threadIdx.x == 0) { mine = 100 + rank; }
  cluster.sync();
  unsigned const next = (rank + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) { out[blockIdx.x] = *cluster.map_shared_rank(&mine, next); }
  cluster.sync();  // the shared memory of a block must stay until its neighbor has read it
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_of_two(unsigned* out) {
  write_of_neighbor(out);
}

// The launch sets the size of the clusters.
extern "C" __global__ void cluster_of_launch(unsigned* out) { write_of_neighbor(out); }

extern "C" __global__ void lane_numbers(unsigned* out) {
  unsigned lane = 0;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  out[threadIdx.x] = lane;
}

// One block reverses as many numbers as it has threads. It uses the end of its shared memory.
extern "C" __global__ void reverse(int* x, unsigned shared_words) {
  extern __shared__ int words[];
  int* const end = words + shared_words - blockDim.x;
  end[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = end[blockDim.x - 1 - threadIdx.x];
}

// Both kernels of a pair: *x = *x * factor + summand. The second may start before the first has
// ended, and waits before it reads.
extern "C" __global__ void first_of_pair(unsigned* x, unsigned factor, unsigned summand) {
  cudaTriggerProgrammaticLaunchCompletion();
  __nanosleep(20000);
  *x = *x * factor + summand;
}
extern "C" __global__ void second_of_pair(unsigned* x, unsigned factor, unsigned summand) {
  cudaGridDependencySynchronize();
  *x = *x * factor + summand;
}
