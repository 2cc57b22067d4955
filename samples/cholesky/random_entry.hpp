// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A symmetric positive definite matrix whose entries can be computed anywhere.

#if defined(__CUDACC__)
#define CHOLESKY_HOST_DEVICE __host__ __device__
#else
#define CHOLESKY_HOST_DEVICE
#endif

/// Returns the entry of row `i` and column `j` of a matrix with `size` rows. Entries beside the
/// diagonal are random, between -1/2 and 1/2. The diagonal is so large that the matrix is positive
/// definite.
CHOLESKY_HOST_DEVICE inline double random_entry(unsigned long long i, unsigned long long j,
                                                unsigned long long size) {
  unsigned long long const low = i < j ? i : j;
  unsigned long long const high = i < j ? j : i;
  unsigned long long bits = low * 0x9e3779b97f4a7c15ull + high * 0xd1342543de82ef95ull + 1;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93ull;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93ull;
  double const random = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
  return i == j ? random + static_cast<double>(size) : random;
}
