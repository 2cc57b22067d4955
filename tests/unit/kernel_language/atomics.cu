// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Every atomic operation, executed by many blocks at once.

extern "C" __global__ void add_all_types(int* i, unsigned* u, unsigned long long* ull, float* f,
                                         double* d) {
  atomicAdd(i, 1);
  atomicAdd_block(u, 2u);
  atomicAdd_system(ull, 3ull);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 0.5);
}

extern "C" __global__ void extremes(int* least, int* greatest, unsigned long long* least_wide,
                                    long long* greatest_wide, unsigned* greatest_unsigned) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicMin(least, -i);
  atomicMax(greatest, i);
  atomicMin(least_wide, 1ull << 40 | static_cast<unsigned>(i));
  atomicMax(greatest_wide, -5ll + i);
  atomicMax(greatest_unsigned, 0x80000000u + static_cast<unsigned>(i));
}

extern "C" __global__ void bits_of(unsigned* set, unsigned* cleared, unsigned* flipped) {
  unsigned const bit = 1u << threadIdx.x;
  atomicOr(set, bit);
  atomicAnd(cleared, ~bit);
  atomicXor(flipped, bit);
}

extern "C" __global__ void wrap_round(unsigned* up, unsigned* down, unsigned limit) {
  atomicInc(up, limit);
  atomicDec(down, limit);
}

extern "C" __global__ void subtract(int* i, unsigned* u) {
  atomicSub(i, 2);
  atomicSub(u, 1u);
}

// atomicExch must return every stored value exactly once, except the value that was stored last.
extern "C" __global__ void exchange_all(unsigned* place, unsigned long long* sum) {
  unsigned const mine = blockIdx.x * blockDim.x + threadIdx.x + 1;
  atomicAdd(sum, static_cast<unsigned long long>(atomicExch(place, mine)));
}

extern "C" __global__ void multiply_by_cas(unsigned long long* product) {
  unsigned long long seen = atomicCAS(product, 0ull, 0ull), expected;
  do {
    expected = seen;
    seen = atomicCAS(product, expected, expected * 3);
  } while (seen != expected);
}

// The block that ends last adds the results of all blocks. Before that, each block makes its result
// visible with a fence.
extern "C" __global__ void last_block_adds(unsigned* parts, unsigned* ended, unsigned* total) {
  if (threadIdx.x != 0) { return; }
  parts[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  if (atomicInc(ended, gridDim.x) == gridDim.x - 1) {
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) { sum += parts[i]; }
    *total = sum;
  }
}
