// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Stand in on CPU devices for flotilla's kernels that copy and fill (see copy_kernels). They divide
// a copy among blocks and threads in the same way. On GPUs they do nothing.

// The beginning of a memory_command.
struct copy_command {
  unsigned long long to, from, bytes;
};
struct fill_command {
  unsigned long long to, from, bytes;
  unsigned char kind, pinned, pattern_bytes, reach;
  unsigned device;
  unsigned long long owner;
  unsigned from_device, unused;
  unsigned char pattern[64];
};

extern "C" __global__ void copy_part(copy_command what) {
#ifndef __CUDACC__
  auto* const to = (unsigned char*)what.to;
  auto const* const from = (unsigned char const*)what.from;
  unsigned long long const differing = (what.to ^ what.from) | 16;
  unsigned long long const word = differing & (~differing + 1);
  unsigned long long head = (~what.to + 1) & (word - 1);
  if (head > what.bytes) { head = what.bytes; }
  unsigned long long const words = (what.bytes - head) / word;
  unsigned long long const behind = head + words * word;
  if (blockIdx.x == 0) {
    if (threadIdx.x < head) { to[threadIdx.x] = from[threadIdx.x]; }
    if (threadIdx.x < what.bytes - behind) {
      to[behind + threadIdx.x] = from[behind + threadIdx.x];
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
    unsigned long long const index = blockIdx.x * 1024 + i * 128 + threadIdx.x;
    if (index >= words) { break; }
    for (unsigned k = 0; k < word; ++k) {
      to[head + index * word + k] = from[head + index * word + k];
    }
  }
#endif
}

extern "C" __global__ void fill_part(fill_command what) {
#ifndef __CUDACC__
  auto* const to = (unsigned char*)what.to;
  unsigned long long head = (~what.to + 1) & 15;
  if (head > what.bytes) { head = what.bytes; }
  unsigned long long const words = (what.bytes - head) / 16;
  unsigned long long const behind = head + words * 16;
  auto const put = [&](unsigned long long at) { to[at] = what.pattern[at % what.pattern_bytes]; };
  if (blockIdx.x == 0) {
    if (threadIdx.x < head) { put(threadIdx.x); }
    if (threadIdx.x < what.bytes - behind) { put(behind + threadIdx.x); }
  }
  for (unsigned i = 0; i < 8; ++i) {
    unsigned long long const index = blockIdx.x * 1024 + i * 128 + threadIdx.x;
    if (index >= words) { break; }
    for (unsigned k = 0; k < 16; ++k) { put(head + index * 16 + k); }
  }
#endif
}
