// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "batch_space.hpp"

#include <algorithm>

namespace block_digest {

namespace {

// The size of a batch, unless a single block is larger. A batch for a GPU has as many blocks of
// 4 KiB as threads that the GPU needs to be busy, and its copy takes longer than the host needs to
// submit the next batch. A batch for a CPU device fits into the cache of a core, so the kernel and
// the verification find it there.
constexpr std::size_t gpu_bytes = std::size_t{4} << 20;
constexpr std::size_t cpu_bytes = std::size_t{1} << 18;
// A batch has places for blocks of this size on average. Batches of small files have at most this
// many blocks for each byte, so that the digests never need more memory than the contents.
constexpr std::size_t usual_block_bytes = 4096;
constexpr std::size_t min_block_bytes = 64;
// A range starts at a multiple of 16 bytes, so that the kernel reads aligned words.
constexpr std::size_t alignment_bytes = 16;

}  // namespace

batch_capacity::batch_capacity(std::size_t block_size, flotilla::device_kind kind)
    : block_bytes{block_size} {
  std::size_t const usual = kind == flotilla::device_kind::gpu ? gpu_bytes : cpu_bytes;
  bytes = std::max(usual, block_size);
  blocks = std::clamp(bytes / block_size, usual / usual_block_bytes, usual / min_block_bytes);
}

std::size_t batch_space::next_offset() const noexcept {
  std::size_t const aligned = (used_bytes_ + alignment_bytes - 1) / alignment_bytes;
  return std::min(aligned * alignment_bytes, capacity_.bytes);
}

std::size_t batch_space::blocks_left() const noexcept {
  return std::min((capacity_.bytes - next_offset()) / capacity_.block_bytes,
                  capacity_.blocks - blocks_);
}

std::size_t batch_space::add(std::size_t bytes) noexcept {
  std::size_t const count = (bytes + capacity_.block_bytes - 1) / capacity_.block_bytes;
  used_bytes_ = next_offset() + bytes;
  blocks_ += count;
  return count;
}

}  // namespace block_digest
