// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Adds the sum of data[0] ... data[count - 1] to *total. The caller must set *total to zero
/// before. Works with any grid. The number of threads in a block must be a multiple of the warp
/// size. The order of the additions varies, so the rounding error may differ from run to run.
extern "C" __global__ void __launch_bounds__(1024)
    sum(float const* data, unsigned long long count, float* total) {
  float mine = 0.0f;
  unsigned long long const step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    mine += data[i];
  }

  // Each warp adds up its values with shuffles. Then the first warp adds up the sums of all warps.
  unsigned const all_lanes = 0xffffffffu;
  for (int distance = warpSize / 2; distance > 0; distance /= 2) {
    mine += __shfl_down_sync(all_lanes, mine, distance);
  }
  __shared__ float warp_sums[32];
  unsigned const lane = threadIdx.x % warpSize;
  unsigned const warp = threadIdx.x / warpSize;
  if (lane == 0) { warp_sums[warp] = mine; }
  __syncthreads();
  if (warp != 0) { return; }
  mine = lane < blockDim.x / warpSize ? warp_sums[lane] : 0.0f;
  for (int distance = warpSize / 2; distance > 0; distance /= 2) {
    mine += __shfl_down_sync(all_lanes, mine, distance);
  }
  if (lane == 0) { atomicAdd(total, mine); }
}
