#pragma once
/// A batch: blocks of files on their way to one device and back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "digest.hpp"

namespace block_digest {

/// How much fits into a batch.
struct batch_capacity {
  explicit batch_capacity(std::size_t block_size);
  std::size_t block_bytes;
  std::size_t bytes;   ///< of file contents; at least one block
  std::size_t blocks;  ///< a count, which includes short blocks
};

/// Consecutive blocks of one file, digested by one task. Only the last may be shorter than a block.
struct block_range {
  std::shared_ptr<std::string const> path;
  std::uint64_t file_offset;  ///< bytes
  std::size_t batch_offset;   ///< bytes
  std::size_t bytes;          ///< of all blocks of the range
  std::size_t first_block;    ///< its index in the batch
  std::size_t blocks;
};

/// Memory on the host and on one device for blocks and their digests. It is used again and again.
/// The host memory is pinned, so that devices copy from it at full speed.
struct block_batch {
  block_batch(flotilla::runtime& rt, flotilla::device_ordinal device,
              batch_capacity const& capacity);

  /// Free space for at most `max_blocks` whole blocks; empty if the batch is full.
  [[nodiscard]] std::span<std::byte> free_space(std::size_t max_blocks);
  /// Adds what was read into free_space() as a range.
  void add(std::shared_ptr<std::string const> path, std::uint64_t file_offset, std::size_t bytes);
  /// Empties the batch, so that it can be filled again.
  void clear();

  batch_capacity const capacity;
  flotilla::device_ordinal const device;
  flotilla::host_buffer<std::byte> contents;
  flotilla::device_buffer<std::byte> device_contents;
  flotilla::host_buffer<digest> digests;
  flotilla::device_buffer<digest> device_digests;

  std::vector<block_range> ranges;
  std::size_t used_bytes = 0;           ///< of `contents`
  std::size_t blocks = 0;               ///< of all ranges
  std::uint64_t number = 0;             ///< counts batches in the order of the input
  flotilla::ticket digests_copied;      ///< done when `digests` has the digests
  std::string error;                    ///< why there are no digests; empty if there are
  std::vector<std::size_t> mismatches;  ///< blocks whose digest is not the host's, ascending
};

}  // namespace block_digest
