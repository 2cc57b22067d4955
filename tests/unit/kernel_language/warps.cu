// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels with shuffles, votes, matches and reductions. Every thread stores its result.

extern "C" __global__ void shuffle_index(int* out, int source, int width) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) * 10, source, width);
}
extern "C" __global__ void shuffle_up(int* out, unsigned delta, int width) {
  out[threadIdx.x] = __shfl_up_sync(0xffffffffu, static_cast<int>(threadIdx.x), delta, width);
}
extern "C" __global__ void shuffle_down(int* out, unsigned delta, int width) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, static_cast<int>(threadIdx.x), delta, width);
}
extern "C" __global__ void shuffle_xor(int* out, int lanes, int width) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<int>(threadIdx.x), lanes, width);
}

template <class T>
__device__ bool travels(T base) {
  T const mine = static_cast<T>(base + static_cast<T>(threadIdx.x % 32));
  return __shfl_xor_sync(0xffffffffu, mine, 1) ==
         static_cast<T>(base + static_cast<T>(threadIdx.x % 32 ^ 1));
}
extern "C" __global__ void shuffle_types(int* out) {
  bool good = travels<int>(-5);
  good = travels<unsigned>(4000000000u) && good;
  good = travels<long>(-5000000000l) && good;
  good = travels<unsigned long>(5000000000ul) && good;
  good = travels<long long>(-5000000000ll) && good;
  good = travels<unsigned long long>(1ull << 63) && good;
  good = travels<float>(0.5f) && good;
  good = travels<double>(1e-9) && good;
  out[threadIdx.x] = good;
}

extern "C" __global__ void votes(unsigned* ballot, int* any, int* all, unsigned true_lanes) {
  int const predicate = true_lanes >> threadIdx.x % 32 & 1;
  ballot[threadIdx.x] = __ballot_sync(0xffffffffu, predicate);
  any[threadIdx.x] = __any_sync(0xffffffffu, predicate);
  all[threadIdx.x] = __all_sync(0xffffffffu, predicate);
}

// The two halves of a warp use different masks and do not run at the same speed.
extern "C" __global__ void halves_apart(int* out) {
  unsigned const lane = threadIdx.x % 32;
  int sum = static_cast<int>(lane);
  if (lane < 16) {
    for (int d = 8; d > 0; d /= 2) { sum += __shfl_xor_sync(0x0000ffffu, sum, d); }
  } else {
    for (int again = 0; again < 3; ++again) { __syncwarp(0xffff0000u); }
    for (int d = 8; d > 0; d /= 2) { sum += __shfl_xor_sync(0xffff0000u, sum, d); }
  }
  __syncwarp();
  out[threadIdx.x] = sum;
}

// Some lanes have exited. No operation may wait for these lanes, even if the mask contains them.
extern "C" __global__ void vote_of_those_left(unsigned* out) {
  if (threadIdx.x % 2 == 1) { return; }
  out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
}

extern "C" __global__ void matches(unsigned* any, unsigned* all, int* all_equal, int modulus) {
  int const value = static_cast<int>(threadIdx.x) % modulus;
  any[threadIdx.x] = __match_any_sync(0xffffffffu, value);
  int equal = -1;
  all[threadIdx.x] = __match_all_sync(0xffffffffu, value, &equal);
  all_equal[threadIdx.x] = equal;
}

extern "C" __global__ void reductions(int* out) {
  int const value = static_cast<int>(threadIdx.x) - 16;
  unsigned const bits = 1u << threadIdx.x;
  if (threadIdx.x == 0) {
    out[0] = __reduce_add_sync(0xffffffffu, value);
    out[1] = __reduce_min_sync(0xffffffffu, value);
    out[2] = __reduce_max_sync(0xffffffffu, value);
    out[3] = static_cast<int>(__reduce_or_sync(0xffffffffu, bits));
    out[4] = static_cast<int>(__reduce_and_sync(0xffffffffu, ~bits));
    out[5] = static_cast<int>(__reduce_xor_sync(0xffffffffu, bits | 1u));
  } else {
    __reduce_add_sync(0xffffffffu, value);
    __reduce_min_sync(0xffffffffu, value);
    __reduce_max_sync(0xffffffffu, value);
    __reduce_or_sync(0xffffffffu, bits);
    __reduce_and_sync(0xffffffffu, ~bits);
    __reduce_xor_sync(0xffffffffu, bits | 1u);
  }
}

extern "C" __global__ void active_lanes(unsigned* out) { out[threadIdx.x] = __activemask(); }

extern "C" __global__ void mask_without_caller(int* out) {
  *out = __shfl_sync(0xfffffffeu, 1, 1);  // the mask does not contain lane 0
}
