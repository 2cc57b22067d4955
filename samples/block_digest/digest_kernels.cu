// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of block_digest. They are compiled together with kernels/sha256.cu, which defines
// sha256::digest.

#include "block_place.hpp"

/// Writes the SHA-256 digest of the i-th block to digests + 32 * i. The blocks may belong to
/// different files and may have different sizes, so that one launch digests a whole batch. A GPU
/// reads a block faster if its offset is a multiple of 4. One thread digests one block: launch at
/// least `blocks` threads.
extern "C" __global__ void sha256_of_places(unsigned char const* contents,
                                            block_digest::block_place const* places,
                                            unsigned long long blocks, unsigned char* digests) {
  unsigned long long const i =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= blocks) { return; }
  sha256::digest(contents + places[i].offset, places[i].bytes, digests + 32 * i);
}

/// Makes the first digest wrong, for a test of the verification. Launch one thread.
extern "C" __global__ void invert_first_byte(unsigned char* digests) {
  digests[0] = static_cast<unsigned char>(~digests[0]);
}
