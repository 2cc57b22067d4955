// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels for the tests of flows. Their results show which data they read, and in which order.

#include <flotilla/data/view.hpp>

extern "C" __global__ void mix_words(unsigned* to, unsigned const* a, unsigned const* b,
                                     unsigned count, unsigned salt) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { to[i] = a[i] * 31 + b[i] * 17 + salt + i; }
}

extern "C" __global__ void stir_words(unsigned* words, unsigned count, unsigned salt) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { words[i] = words[i] * 3 + salt; }
}

extern "C" __global__ void transpose_words(flotilla::view<unsigned const, 2> from,
                                           flotilla::view<unsigned, 2> to) {
  unsigned const i = threadIdx.x;
  unsigned const j = threadIdx.y;
  if (i < from.extents[0] && j < from.extents[1]) { to(j, i) = from(i, j); }
}

extern "C" __global__ void stir_matrix(flotilla::view<unsigned, 2> all, unsigned salt) {
  for (unsigned i = threadIdx.x; i < all.size(); i += blockDim.x) {
    unsigned& word = all(i / all.extents[1], i % all.extents[1]);
    word = word * 3 + salt;
  }
}

extern "C" __global__ void stir_box(flotilla::view<unsigned, 3> all, unsigned salt) {
  for (unsigned i = threadIdx.x; i < all.size(); i += blockDim.x) {
    unsigned const row = i / all.extents[2];
    unsigned& word = all(row / all.extents[1], row % all.extents[1], i % all.extents[2]);
    word = word * 3 + salt;
  }
}

// to[i] += from[i] * factor
extern "C" __global__ void add_words(unsigned* to, unsigned const* from, unsigned count,
                                     unsigned factor) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) { to[i] += from[i] * factor; }
}

extern "C" __global__ void add_to_matrix(flotilla::view<unsigned, 2> to, unsigned salt) {
  for (unsigned i = threadIdx.x; i < to.size(); i += blockDim.x) {
    to(i / to.extents[1], i % to.extents[1]) += salt + i;
  }
}
