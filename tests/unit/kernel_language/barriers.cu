// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that use __syncthreads and other barriers.

extern "C" __global__ void rotate_often(int* data, int times) {
  __shared__ int shared[1024];
  int const i = threadIdx.x, n = blockDim.x;
  shared[i] = data[blockIdx.x * n + i];
  __syncthreads();
  for (int t = 0; t < times; ++t) {
    int const next = shared[(i + 1) % n];
    __syncthreads();
    shared[i] = next;
    __syncthreads();
  }
  data[blockIdx.x * n + i] = shared[i];
}

// In each round, one more thread exits. The barrier must then wait only for the remaining threads.
extern "C" __global__ void leave_one_by_one(int* rounds_seen) {
  __shared__ int present;
  if (threadIdx.x == 0) { present = 0; }
  __syncthreads();
  for (unsigned round = 0; round < blockDim.x; ++round) {
    if (threadIdx.x < round) { return; }
    atomicAdd(&present, 1);
    __syncthreads();
    rounds_seen[round] = present;
    __syncthreads();
    if (threadIdx.x == round) { present = 0; }
    __syncthreads();
  }
}

extern "C" __global__ void reduce_at_barrier(int* count, int* conjunction, int* disjunction,
                                             unsigned true_below) {
  int const predicate = threadIdx.x < true_below ? 7 : 0;
  count[threadIdx.x] = __syncthreads_count(predicate);
  conjunction[threadIdx.x] = __syncthreads_and(predicate);
  disjunction[threadIdx.x] = __syncthreads_or(predicate);
}

extern "C" __global__ void half_exits_then_all(int* out) {
  if (threadIdx.x % 2 == 0) { return; }
  out[threadIdx.x] = __syncthreads_and(1);
}

// After a barrier, each thread must still have its own index.
extern "C" __global__ void indices_after_barrier(unsigned* out) {
  __syncthreads();
  unsigned const thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned const threads = blockDim.x * blockDim.y * blockDim.z;
  __syncthreads();
  out[block * threads + thread] += 1 + thread + block * threads;
}

extern "C" __global__ void barrier_one_thread_misses(int* flag) {
  if (threadIdx.x == 0) {
    __syncwarp();  // never returns, because the other threads wait in __syncthreads
  } else {
    __syncthreads();
  }
  *flag = 1;
}

extern "C" __global__ void shared_reversed(int* data) {
  FLOTILLA_DYNAMIC_SHARED(int, shared);
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void dynamic_shared_alignment(unsigned long long* out) {
  FLOTILLA_DYNAMIC_SHARED(float4, shared);
  *out = reinterpret_cast<unsigned long long>(shared) % 16;
}

// Each thread waits for a lock. The holder is a thread of the same block, and must be able to run
// meanwhile.
extern "C" __global__ void hand_over_by_atomics(int* lock, int* data) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  int const seen = *data;
  __nanosleep(10);  // meanwhile the other threads try to take the lock
  *data = seen + 1;
  __threadfence();
  atomicExch(lock, 0);
}

extern "C" __global__ void wait_for_last_thread(int volatile* flag, int* out) {
  if (threadIdx.x + 1 == blockDim.x) {
    *flag = 1;
  } else {
    while (*flag == 0) { __nanosleep(100); }
  }
  atomicAdd(out, 1);
}
