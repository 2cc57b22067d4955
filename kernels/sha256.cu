// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

/// Computes the SHA-256 digest (FIPS 180-4) of each block of a buffer. In this file a block is a
/// part of the buffer, not a block of threads.
///
/// One thread computes one digest, because the algorithm is serial within a message. Threads of one
/// launch compute the digests of different blocks in parallel.
namespace sha256 {

__constant__ unsigned round_constants[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u,
    0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu,
    0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu,
    0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,
    0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu,
    0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
    0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u,
    0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u,
    0xc67178f2u};

constexpr int chunk_bytes = 64;

__device__ __forceinline__ unsigned rotate_right(unsigned x, int bits) {
  return __funnelshift_r(x, x, bits);
}
__device__ __forceinline__ unsigned swap_bytes(unsigned x) { return __byte_perm(x, 0, 0x0123); }

/// Reads the 16 words of a chunk. An unaligned chunk is read byte by byte, because a GPU cannot
/// read a word at an unaligned address.
__device__ __forceinline__ void read_chunk(unsigned (&words)[16], unsigned char const* from) {
  if (reinterpret_cast<unsigned long long>(from) % sizeof(unsigned) == 0) {
    for (int i = 0; i < 16; ++i) {
      words[i] = swap_bytes(reinterpret_cast<unsigned const*>(from)[i]);
    }
  } else {
    for (int i = 0; i < 16; ++i) {
      words[i] = static_cast<unsigned>(from[4 * i]) << 24 |
                 static_cast<unsigned>(from[4 * i + 1]) << 16 |
                 static_cast<unsigned>(from[4 * i + 2]) << 8 | from[4 * i + 3];
    }
  }
}

/// Computes one round. SHA-256 rotates the eight variables after each round. The caller passes
/// rotated arguments instead, so that no value has to move.
__device__ __forceinline__ void round(unsigned a, unsigned b, unsigned c, unsigned& d, unsigned e,
                                      unsigned f, unsigned g, unsigned& h,
                                      unsigned word_and_constant) {
  h += (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + (g ^ (e & (f ^ g))) +
       word_and_constant;
  d += h;
  h += (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) | (c & (a | b)));
}

/// `w` is a ring buffer. The word for round i + 16 replaces the word for round i.
__device__ __forceinline__ unsigned next_word(unsigned (&w)[16], int i) {
  unsigned const early = w[(i + 1) & 15], late = w[(i + 14) & 15];
  w[i] += (rotate_right(early, 7) ^ rotate_right(early, 18) ^ early >> 3) + w[(i + 9) & 15] +
          (rotate_right(late, 17) ^ rotate_right(late, 19) ^ late >> 10);
  return w[i];
}

__device__ __forceinline__ void add_chunk(unsigned (&state)[8], unsigned (&w)[16]) {
  unsigned a = state[0], b = state[1], c = state[2], d = state[3];
  unsigned e = state[4], f = state[5], g = state[6], h = state[7];
  // Eight rounds are written out, because some compilers do not unroll a loop of eight rounds.
#define FLOTILLA_SHA256_EIGHT(first, word)                                         \
  round(a, b, c, d, e, f, g, h, word(first + 0) + round_constants[t + first + 0]); \
  round(h, a, b, c, d, e, f, g, word(first + 1) + round_constants[t + first + 1]); \
  round(g, h, a, b, c, d, e, f, word(first + 2) + round_constants[t + first + 2]); \
  round(f, g, h, a, b, c, d, e, word(first + 3) + round_constants[t + first + 3]); \
  round(e, f, g, h, a, b, c, d, word(first + 4) + round_constants[t + first + 4]); \
  round(d, e, f, g, h, a, b, c, word(first + 5) + round_constants[t + first + 5]); \
  round(c, d, e, f, g, h, a, b, word(first + 6) + round_constants[t + first + 6]); \
  round(b, c, d, e, f, g, h, a, word(first + 7) + round_constants[t + first + 7]);
#define FLOTILLA_SHA256_GIVEN(i) w[i]
#define FLOTILLA_SHA256_NEXT(i) next_word(w, i)
  int t = 0;
  FLOTILLA_SHA256_EIGHT(0, FLOTILLA_SHA256_GIVEN)
  FLOTILLA_SHA256_EIGHT(8, FLOTILLA_SHA256_GIVEN)
  for (t = 16; t < 64; t += 16) {
    FLOTILLA_SHA256_EIGHT(0, FLOTILLA_SHA256_NEXT)
    FLOTILLA_SHA256_EIGHT(8, FLOTILLA_SHA256_NEXT)
  }
#undef FLOTILLA_SHA256_NEXT
#undef FLOTILLA_SHA256_GIVEN
#undef FLOTILLA_SHA256_EIGHT
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

__device__ inline void digest(unsigned char const* message, unsigned long long bytes,
                              unsigned char* to) {
  unsigned state[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                       0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  unsigned w[16];
  unsigned long long at = 0;
  for (; bytes - at >= chunk_bytes; at += chunk_bytes) {
    read_chunk(w, message + at);
    add_chunk(state, w);
  }

  // The last chunks contain the remaining bytes, a one bit, zero bits, and the message length in
  // bits as a 64-bit number.
  int const rest = static_cast<int>(bytes - at);
  int const chunks = rest < chunk_bytes - 8 ? 1 : 2;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int i = 0; i < 16; ++i) {
      unsigned word = 0;
      for (int j = 0; j < 4; ++j) {
        int const place = chunk * chunk_bytes + 4 * i + j;
        unsigned const byte = place < rest ? message[at + place] : place == rest ? 0x80u : 0u;
        word = word << 8 | byte;
      }
      w[i] = word;
    }
    if (chunk == chunks - 1) {
      w[14] = static_cast<unsigned>(bytes >> 29);
      w[15] = static_cast<unsigned>(bytes << 3);
    }
    add_chunk(state, w);
  }

  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 4; ++j) {
      to[4 * i + j] = static_cast<unsigned char>(state[i] >> (24 - 8 * j));
    }
  }
}

}  // namespace sha256

/// Writes the SHA-256 digest of the i-th block of `data` to digests + 32 * i. `data` has `bytes`
/// bytes. Each block has `block_bytes` bytes, but the last block may be shorter. `data` may be
/// unaligned, but a GPU reads blocks faster if they are aligned to 4 bytes. One thread digests one
/// block: launch at least `blocks` threads.
extern "C" __global__ void sha256_blocks(unsigned char const* data, unsigned long long bytes,
                                         unsigned long long block_bytes, unsigned long long blocks,
                                         unsigned char* digests) {
  unsigned long long const i =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= blocks || i * block_bytes > bytes) { return; }
  unsigned long long const start = i * block_bytes;
  unsigned long long const left = bytes - start;
  sha256::digest(data + start, left < block_bytes ? left : block_bytes, digests + 32 * i);
}
