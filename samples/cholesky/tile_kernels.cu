// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Operations on tiles, for devices without cuBLAS and cuSOLVER, such as CPU devices. They are
// simple, not fast. A tile is stored by columns: tile(c, r) is the entry of column c and row r.

#include "random_entry.hpp"
#include "tile_view.hpp"

// Replaces the lower triangle of a tile with its Cholesky factor. If the leading minor of order k is
// not positive, stores k in `info`, else 0. One block.
template <class T>
__device__ void factor(flotilla::view<T, 2> tile, int* info) {
  unsigned const me = threadIdx.x;
  unsigned const threads = blockDim.x;
  unsigned const rows = static_cast<unsigned>(tile.extents[1]);
  if (me == 0) { *info = 0; }
  for (unsigned k = 0; k < rows; ++k) {
    __syncthreads();
    T const pivot = tile(k, k);
    if (!(pivot > 0)) {
      if (me == 0) { *info = static_cast<int>(k) + 1; }
      return;
    }
    T const root = sqrt(pivot);
    __syncthreads();
    for (unsigned r = k + me; r < rows; r += threads) {
      tile(k, r) = r == k ? root : tile(k, r) / root;
    }
    __syncthreads();
    for (unsigned c = k + 1 + me; c < rows; c += threads) {
      for (unsigned r = c; r < rows; ++r) { tile(c, r) -= tile(k, r) * tile(k, c); }
    }
  }
}

// Solves X * L^T = tile, and stores X in the tile. A thread for each row.
template <class T>
__device__ void solve(flotilla::view<T const, 2> factor, flotilla::view<T, 2> tile) {
  unsigned const r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= tile.extents[1]) { return; }
  for (unsigned c = 0; c < tile.extents[0]; ++c) {
    T sum = tile(c, r);
    for (unsigned k = 0; k < c; ++k) { sum -= tile(k, r) * factor(k, c); }
    tile(c, r) = sum / factor(c, c);
  }
}

// to -= a * b^T. A block computes 64 x 64 entries, each of its 256 threads 4 x 4 of them. Strips of
// `a` and `b` pass through shared memory.
template <class T>
__device__ void multiply(flotilla::view<T const, 2> a, flotilla::view<T const, 2> b,
                         flotilla::view<T, 2> to) {
  constexpr unsigned side = 64, depth = 16, each = 4, threads = 16;
  __shared__ T strip_a[depth][side];
  __shared__ T strip_b[depth][side];
  unsigned const rows = static_cast<unsigned>(to.extents[1]);
  unsigned const columns = static_cast<unsigned>(to.extents[0]);
  unsigned const inner = static_cast<unsigned>(a.extents[0]);
  unsigned const first_row = blockIdx.x * side, first_column = blockIdx.y * side;
  unsigned const me = threadIdx.y * threads + threadIdx.x;
  T sum[each][each] = {};
  for (unsigned begin = 0; begin < inner; begin += depth) {
    for (unsigned i = me; i < depth * side; i += threads * threads) {
      unsigned const k = i / side, at = i % side;
      bool const inside = begin + k < inner;
      strip_a[k][at] = inside && first_row + at < rows ? a(begin + k, first_row + at) : T{0};
      strip_b[k][at] =
          inside && first_column + at < columns ? b(begin + k, first_column + at) : T{0};
    }
    __syncthreads();
    for (unsigned k = 0; k < depth; ++k) {
      T left[each], right[each];
      for (unsigned i = 0; i < each; ++i) {
        left[i] = strip_a[k][threadIdx.x + i * threads];
        right[i] = strip_b[k][threadIdx.y + i * threads];
      }
      for (unsigned c = 0; c < each; ++c) {
        for (unsigned r = 0; r < each; ++r) { sum[c][r] += left[r] * right[c]; }
      }
    }
    __syncthreads();
  }
  for (unsigned c = 0; c < each; ++c) {
    for (unsigned r = 0; r < each; ++r) {
      unsigned const row = first_row + threadIdx.x + r * threads;
      unsigned const column = first_column + threadIdx.y + c * threads;
      if (row < rows && column < columns) { to(column, row) -= sum[c][r]; }
    }
  }
}

extern "C" {

__global__ void factor_f64(flotilla::view<double, 2> tile, int* info) { factor(tile, info); }
__global__ void factor_f32(flotilla::view<float, 2> tile, int* info) { factor(tile, info); }

__global__ void solve_f64(flotilla::view<double const, 2> l, flotilla::view<double, 2> tile) {
  solve(l, tile);
}
__global__ void solve_f32(flotilla::view<float const, 2> l, flotilla::view<float, 2> tile) {
  solve(l, tile);
}

__global__ void multiply_f64(flotilla::view<double const, 2> a, flotilla::view<double const, 2> b,
                             flotilla::view<double, 2> to) {
  multiply(a, b, to);
}
__global__ void multiply_f32(flotilla::view<float const, 2> a, flotilla::view<float const, 2> b,
                             flotilla::view<float, 2> to) {
  multiply(a, b, to);
}

__global__ void square_f64(flotilla::view<double const, 2> a, flotilla::view<double, 2> to) {
  multiply(a, a, to);
}
__global__ void square_f32(flotilla::view<float const, 2> a, flotilla::view<float, 2> to) {
  multiply(a, a, to);
}

// Fills a whole matrix, for the comparison with cuSOLVER. A thread for each entry of a column.
__global__ void fill_f64(double* matrix, unsigned size) {
  unsigned const r = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned const c = blockIdx.y;
  if (r < size) {
    matrix[static_cast<unsigned long long>(c) * size + r] = random_entry(r, c, size);
  }
}
__global__ void fill_f32(float* matrix, unsigned size) {
  unsigned const r = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned const c = blockIdx.y;
  if (r < size) {
    matrix[static_cast<unsigned long long>(c) * size + r] =
        static_cast<float>(random_entry(r, c, size));
  }
}

}  // extern "C"
