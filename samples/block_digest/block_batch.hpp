// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Batches. A batch has memory for many blocks of files, which one launch digests.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "batch_space.hpp"
#include "block_place.hpp"
#include "digest.hpp"

namespace block_digest {

using shared_path = std::shared_ptr<std::string const>;

/// Consecutive blocks of one file. Only the last block of a file may have fewer than
/// `batch_capacity::block_bytes` bytes.
struct block_range {
  shared_path path;
  std::uint64_t file_offset = 0;   ///< start of the range in the file, in bytes
  std::uint64_t first_number = 0;  ///< number of the first block in the order of the input
  std::size_t batch_offset = 0;    ///< start of the range in block_batch::contents, in bytes
  std::size_t bytes = 0;           ///< size of all blocks of the range together
  std::size_t first_block = 0;     ///< index of the first block in the batch
  std::size_t blocks = 0;          ///< number of blocks
  /// Whether the file has no more blocks after this range, because it ends here earlier than
  /// planned or could not be read. Later ranges of the same file are ignored.
  bool ends_file = false;
  std::string failure{};  ///< why the file could not be read further, else empty
  std::string lines{};    ///< the lines of the manifest
};

/// The position of a batch in the order of the input. A job has several parts if its files need
/// more than one batch.
struct batch_position {
  std::uint64_t job = 0;
  std::uint64_t part = 0;
  bool is_last_part = true;
};

/// Memory on the host for blocks and their digests. Batches are reused. The memory is pinned, so
/// that copies to a device run at full speed.
///
/// Threads: same rules as for a std::vector. A batch moves from thread to thread.
class block_batch {
 public:
  block_batch(flotilla::runtime& rt, batch_capacity const& capacity);

  /// Returns free space for whole blocks. The result is empty if the batch is full.
  [[nodiscard]] std::span<std::byte> free_space();
  /// Adds the first `bytes` bytes of free_space() as a range. The caller has read these bytes from
  /// `path`.
  void add(shared_path path, std::uint64_t file_offset, std::uint64_t first_number,
           std::size_t bytes);
  /// Records that the file has no more blocks.
  /// @param failure  The reason if the file could not be read, else empty.
  void end_file(shared_path path, std::string failure);
  /// Removes all ranges and results.
  void clear();

  [[nodiscard]] batch_space const& space() const noexcept { return space_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return space_.blocks(); }
  /// Returns the size of block `i` of a range.
  [[nodiscard]] std::size_t block_bytes(block_range const& range, std::size_t i) const noexcept;

  // The copies on the host. A flow has further copies on a device.
  flotilla::host_buffer<std::byte> contents;
  flotilla::host_buffer<block_place> places;
  flotilla::host_buffer<digest> digests;
  // What the flow knows of this memory. It exists as long as tasks use the batch, because the flow
  // gives the memory on the device to another batch when it ends.
  flotilla::data<std::byte> contents_in_flow{};
  flotilla::data<block_place> places_in_flow{};
  flotilla::data<digest> digests_in_flow{};

  batch_position position{};
  std::vector<block_range> ranges{};
  flotilla::device_ordinal device{};  ///< the device that digests the blocks
  std::string error{};                ///< the reason if computing the digests failed, else empty
  /// Indices of the blocks for which the device and the host have different digests, in ascending
  /// order.
  std::vector<std::size_t> mismatches{};

 private:
  batch_space space_;
};

}  // namespace block_digest
