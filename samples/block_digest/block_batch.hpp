// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Batches. A batch has memory for many blocks of files. One device digests all blocks of a batch.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "digest.hpp"

namespace block_digest {

/// The capacity of a batch.
struct batch_capacity {
  explicit batch_capacity(std::size_t block_size);
  std::size_t block_bytes;  ///< size of a block
  std::size_t bytes;        ///< maximum size of the file contents; at least one block
  std::size_t blocks;       ///< maximum number of blocks, including short blocks
};

/// Consecutive blocks of one file, which one task digests. Only the last block of a file may have
/// fewer than `batch_capacity::block_bytes` bytes.
struct block_range {
  std::shared_ptr<std::string const> path;
  std::uint64_t file_offset;  ///< start of the range in the file, in bytes
  std::size_t batch_offset;   ///< start of the range in block_batch::contents, in bytes
  std::size_t bytes;          ///< size of all blocks of the range together
  std::size_t first_block;    ///< index of the first block in the batch
  std::size_t blocks;         ///< number of blocks
};

/// Memory on the host and on one device for blocks and their digests. Batches are reused. The host
/// memory is pinned, so that copies to the device run at full speed.
struct block_batch {
  block_batch(flotilla::runtime& rt, flotilla::device_ordinal device,
              batch_capacity const& capacity);

  /// Returns free space for at most `max_blocks` whole blocks. The result is empty if the batch is
  /// full.
  [[nodiscard]] std::span<std::byte> free_space(std::size_t max_blocks);
  /// Adds the first `bytes` bytes of free_space() as a range. The caller has read these bytes from
  /// `path`.
  void add(std::shared_ptr<std::string const> path, std::uint64_t file_offset, std::size_t bytes);
  /// Removes all ranges and results.
  void clear();

  batch_capacity const capacity;
  flotilla::device_ordinal const device;
  flotilla::host_buffer<std::byte> contents;
  flotilla::device_buffer<std::byte> device_contents;
  flotilla::host_buffer<digest> digests;
  flotilla::device_buffer<digest> device_digests;

  std::vector<block_range> ranges;
  std::size_t used_bytes = 0;       ///< number of bytes in use in `contents`
  std::size_t blocks = 0;           ///< number of blocks in all ranges
  std::uint64_t number = 0;         ///< position of the batch in the order of the input
  flotilla::ticket digests_copied;  ///< ready when `digests` has the results of the device
  std::string error;                ///< the reason if computing the digests failed, else empty
  /// Indices of the blocks for which the device and the host have different digests, in ascending
  /// order.
  std::vector<std::size_t> mismatches;
};

}  // namespace block_digest
