// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Operations on tiles, for small tiles, and for devices without cuBLAS and cuSOLVER, such as CPU
// devices. A tile is stored by columns: tile(c, r) is the entry of column c and row r.

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

// A block of 256 threads computes 64 x 64 entries of a product. Strips of the factors pass through
// shared memory. The padding prevents bank conflicts of warp_product.
constexpr unsigned product_side = 64, strip_depth = 16, strip_pitch = product_side + 4;
template <class T>
using strip = T[strip_depth][strip_pitch];

// The part of a product that a thread computes: 4 x 4 entries.
template <class T>
class thread_product {
 public:
  __device__ void add(strip<T> const& a, strip<T> const& b) {
    for (unsigned k = 0; k < strip_depth; ++k) {
      T left[each], right[each];
      for (unsigned i = 0; i < each; ++i) {
        left[i] = a[k][threadIdx.x + i * threads];
        right[i] = b[k][threadIdx.y + i * threads];
      }
      for (unsigned c = 0; c < each; ++c) {
        for (unsigned r = 0; r < each; ++r) { sum_[c][r] += left[r] * right[c]; }
      }
    }
  }
  // Calls use(row, column, entry) for each entry.
  template <class Use>
  __device__ void for_each(Use const& use) const {
    for (unsigned c = 0; c < each; ++c) {
      for (unsigned r = 0; r < each; ++r) {
        use(threadIdx.x + r * threads, threadIdx.y + c * threads, sum_[c][r]);
      }
    }
  }

 private:
  static constexpr unsigned each = 4, threads = 16;
  T sum_[each][each] = {};
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// The part of a product that a warp computes with FP64 tensor cores: 16 x 32 entries, as 2 x 4
// pieces of 8 x 8. In a piece, a thread holds two entries of a row.
class warp_product {
 public:
  __device__ void add(strip<double> const& a, strip<double> const& b) {
    unsigned const k_of_lane = lane() % 4, at = lane() / 4;
    for (unsigned k = k_of_lane; k < strip_depth; k += 4) {
      double left[rows], right[columns];
      for (unsigned i = 0; i < rows; ++i) { left[i] = a[k][first_row() + 8 * i + at]; }
      for (unsigned i = 0; i < columns; ++i) { right[i] = b[k][first_column() + 8 * i + at]; }
      for (unsigned r = 0; r < rows; ++r) {
        for (unsigned c = 0; c < columns; ++c) {
          double(&sum)[2] = sum_[r][c];
          asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
              : "+d"(sum[0]), "+d"(sum[1])
              : "d"(left[r]), "d"(right[c]));
        }
      }
    }
  }
  template <class Use>
  __device__ void for_each(Use const& use) const {
    for (unsigned r = 0; r < rows; ++r) {
      for (unsigned c = 0; c < columns; ++c) {
        for (unsigned i = 0; i < 2; ++i) {
          use(first_row() + 8 * r + lane() / 4, first_column() + 8 * c + lane() % 4 * 2 + i,
              sum_[r][c][i]);
        }
      }
    }
  }

 private:
  static constexpr unsigned rows = 2, columns = 4;
  __device__ static unsigned index() { return threadIdx.y * blockDim.x + threadIdx.x; }
  __device__ static unsigned lane() { return index() % 32; }
  __device__ static unsigned first_row() { return index() / 32 % 4 * (8 * rows); }
  __device__ static unsigned first_column() { return index() / 128 * (8 * columns); }
  double sum_[rows][columns][2] = {};
};

__device__ warp_product make_product(double) { return {}; }
#else
__device__ thread_product<double> make_product(double) { return {}; }
#endif
__device__ thread_product<float> make_product(float) { return {}; }

// to -= a * b^T
template <class T>
__device__ void multiply(flotilla::view<T const, 2> a, flotilla::view<T const, 2> b,
                         flotilla::view<T, 2> to) {
  __shared__ strip<T> strip_a;
  __shared__ strip<T> strip_b;
  unsigned const rows = static_cast<unsigned>(to.extents[1]);
  unsigned const columns = static_cast<unsigned>(to.extents[0]);
  unsigned const inner = static_cast<unsigned>(a.extents[0]);
  unsigned const first_row = blockIdx.x * product_side, first_column = blockIdx.y * product_side;
  unsigned const me = threadIdx.y * blockDim.x + threadIdx.x;
  auto product = make_product(T{});
  for (unsigned begin = 0; begin < inner; begin += strip_depth) {
    for (unsigned i = me; i < strip_depth * product_side; i += blockDim.x * blockDim.y) {
      unsigned const k = i / product_side, at = i % product_side;
      bool const inside = begin + k < inner;
      strip_a[k][at] = inside && first_row + at < rows ? a(begin + k, first_row + at) : T{0};
      strip_b[k][at] =
          inside && first_column + at < columns ? b(begin + k, first_column + at) : T{0};
    }
    __syncthreads();
    product.add(strip_a, strip_b);
    __syncthreads();
  }
  product.for_each([&](unsigned r, unsigned c, T entry) {
    unsigned const row = first_row + r, column = first_column + c;
    if (row < rows && column < columns) { to(column, row) -= entry; }
  });
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
