// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Computes `c = alpha * a * b + beta * c`. The matrices are dense and row-major. Matrix `a` has m
/// x k elements, `b` has k x n elements, and `c` has m x n elements.
///
/// Launch blocks of exactly 16 x 16 threads in a grid of (n / 64, m / 64) blocks, rounded up. A
/// block computes 64 x 64 elements of `c`, and each of its threads computes 4 x 4 of these
/// elements. Both nvcc and the host compiler keep the 4 x 4 sums in registers.
namespace sgemm_tile {
constexpr int side = 64;     // rows and columns of the tile of `c` that a block computes
constexpr int depth = 16;    // columns of `a` and rows of `b` in shared memory at a time
constexpr int threads = 16;  // threads of a block in x and in y
constexpr int block = threads * threads;
constexpr int per_thread = side / threads;
}  // namespace sgemm_tile

extern "C" __global__ void __launch_bounds__(sgemm_tile::block)
    sgemm(int m, int n, int k, float alpha, float const* a, float const* b, float beta, float* c) {
  using namespace sgemm_tile;
  // `a_part` is transposed. Its odd row length avoids bank conflicts in shared memory.
  __shared__ float a_part[depth][side + 1];
  __shared__ float b_part[depth][side];
  int const x = static_cast<int>(threadIdx.x);
  int const y = static_cast<int>(threadIdx.y);
  int const first_row = static_cast<int>(blockIdx.y) * side;
  int const first_column = static_cast<int>(blockIdx.x) * side;

  float sums[per_thread][per_thread] = {};
  for (int start = 0; start < k; start += depth) {
    // Adjacent threads read adjacent elements. Elements outside the matrices count as zero.
    for (int i = y * threads + x; i < depth * side; i += threads * threads) {
      int const a_row = first_row + i / depth, a_column = start + i % depth;
      a_part[i % depth][i / depth] =
          a_row < m && a_column < k ? a[static_cast<long long>(a_row) * k + a_column] : 0.0f;
      int const b_row = start + i / side, b_column = first_column + i % side;
      b_part[i / side][i % side] =
          b_row < k && b_column < n ? b[static_cast<long long>(b_row) * n + b_column] : 0.0f;
    }
    __syncthreads();
    for (int z = 0; z < depth; ++z) {
      for (int i = 0; i < per_thread; ++i) {
        for (int j = 0; j < per_thread; ++j) {
          sums[i][j] += a_part[z][y + i * threads] * b_part[z][x + j * threads];
        }
      }
    }
    __syncthreads();  // all threads must have read the parts before the next iteration writes them
  }

  for (int i = 0; i < per_thread; ++i) {
    for (int j = 0; j < per_thread; ++j) {
      int const row = first_row + y + i * threads, column = first_column + x + j * threads;
      if (row >= m || column >= n) { continue; }
      float& element = c[static_cast<long long>(row) * n + column];
      // If `beta` is 0, `c` may be uninitialized, so the kernel must not read `c`.
      element = beta == 0.0f ? alpha * sums[i][j] : alpha * sums[i][j] + beta * element;
    }
  }
}
