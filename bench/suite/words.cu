// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "words.hpp"

// All kernels of this file work with any grid, because they use grid-stride loops.

/// Writes the words of an array with this seed (see words.hpp).
extern "C" __global__ void write_words(unsigned long long* words, unsigned long long count,
                                       unsigned long long seed) {
  unsigned long long const step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    words[i] = i * flotilla::bench::word_factor + seed;
  }
}

/// Adds `increment` to every word, and so to the seed of the array.
extern "C" __global__ void add_to_words(unsigned long long* words, unsigned long long count,
                                        unsigned long long increment) {
  unsigned long long const step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    words[i] += increment;
  }
}

/// Adds to *wrong the number of words that differ from those of an array with this seed.
extern "C" __global__ void count_wrong_words(unsigned long long const* words,
                                             unsigned long long count, unsigned long long seed,
                                             unsigned* wrong) {
  unsigned found = 0;
  unsigned long long const step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    if (words[i] != i * flotilla::bench::word_factor + seed) { ++found; }
  }
  if (found != 0) { atomicAdd(wrong, found); }
}

/// Adds to *wrong the number of words that differ from the first `period` words, which the array
/// must repeat.
extern "C" __global__ void count_unequal_words(unsigned long long const* words,
                                               unsigned long long count, unsigned long long period,
                                               unsigned* wrong) {
  unsigned found = 0;
  unsigned long long const step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i =
           static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    if (words[i] != words[i % period]) { ++found; }
  }
  if (found != 0) { atomicAdd(wrong, found); }
}
