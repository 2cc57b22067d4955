// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "block_batch.hpp"

#include <algorithm>
#include <utility>

namespace block_digest {

namespace {

// The size of a batch, unless a single block is larger. Large enough to make the cost of a copy
// call negligible, and small enough to give a slow device only little work at once.
constexpr std::size_t default_bytes = std::size_t{1} << 18;
// The minimum and the maximum of batch_capacity::blocks. A batch of small files reaches its maximum
// number of blocks before its maximum number of bytes.
constexpr std::size_t min_blocks = 64;
constexpr std::size_t max_blocks = 4096;
// A range starts at a multiple of 16 bytes, so that the kernel reads aligned words.
constexpr std::size_t alignment_bytes = 16;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

}  // namespace

batch_capacity::batch_capacity(std::size_t block_size)
    : block_bytes{block_size},
      bytes{std::max(default_bytes, block_size)},
      blocks{std::clamp(bytes / block_size, min_blocks, max_blocks)} {}

block_batch::block_batch(flotilla::runtime& rt, flotilla::device_ordinal ordinal,
                         batch_capacity const& batch_capacity)
    : capacity{batch_capacity},
      device{ordinal},
      contents{rt, capacity.bytes},
      device_contents{rt, device, capacity.bytes},
      digests{rt, capacity.blocks},
      device_digests{rt, device, capacity.blocks} {}

std::span<std::byte> block_batch::free_space(std::size_t max_count) {
  std::size_t const begin = std::min(aligned(used_bytes), capacity.bytes);
  std::size_t const fitting = std::min(
      {max_count, (capacity.bytes - begin) / capacity.block_bytes, capacity.blocks - blocks});
  return contents.subspan(begin, fitting * capacity.block_bytes);
}

void block_batch::add(std::shared_ptr<std::string const> path, std::uint64_t file_offset,
                      std::size_t bytes) {
  std::size_t const begin = aligned(used_bytes);
  std::size_t const count = (bytes + capacity.block_bytes - 1) / capacity.block_bytes;
  ranges.push_back({std::move(path), file_offset, begin, bytes, blocks, count});
  used_bytes = begin + bytes;
  blocks += count;
}

void block_batch::clear() {
  ranges.clear();
  used_bytes = 0;
  blocks = 0;
  digests_copied = {};
  error.clear();
  mismatches.clear();
}

}  // namespace block_digest
