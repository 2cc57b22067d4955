// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// to[i] = from[i]: what the memory of a device can do at best, for the comparison. A thread copies
/// 16 bytes. The addresses must be aligned to 16 bytes. Launch blocks of 256 threads, at least one
/// thread for each four values.
extern "C" __global__ void __launch_bounds__(256)
    copy_field(float const* __restrict__ from, float* __restrict__ to, unsigned long long count) {
  unsigned long long const i = blockIdx.x * 256ull + threadIdx.x;
  if (4 * i + 3 < count) {
    reinterpret_cast<float4*>(to)[i] = reinterpret_cast<float4 const*>(from)[i];
  } else {
    for (unsigned long long j = 4 * i; j < count; ++j) { to[j] = from[j]; }
  }
}
