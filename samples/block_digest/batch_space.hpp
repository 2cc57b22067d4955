// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The capacity of a batch, and how much of it is in use.

#include <cstddef>

#include <flotilla/flotilla.hpp>

namespace block_digest {

struct batch_capacity {
  /// @param kind  The kind of the devices. A GPU needs larger batches than a CPU device.
  batch_capacity(std::size_t block_size, flotilla::device_kind kind);
  std::size_t block_bytes;  ///< size of a block
  std::size_t bytes;        ///< maximum size of the file contents; at least one block
  std::size_t blocks;       ///< maximum number of blocks, including short blocks
};

/// Assigns places in the contents of a batch. The planner uses it to divide the input into jobs of
/// one batch each, and the batch uses it for the same files, so that both agree.
class batch_space {
 public:
  explicit batch_space(batch_capacity const& capacity) : capacity_{capacity} {}

  [[nodiscard]] batch_capacity const& capacity() const noexcept { return capacity_; }
  /// Returns how many whole blocks fit into the rest.
  [[nodiscard]] std::size_t blocks_left() const noexcept;
  /// Returns the offset of the next range, in bytes. It is a multiple of 16 or the end.
  [[nodiscard]] std::size_t next_offset() const noexcept;
  /// Occupies `bytes` bytes at next_offset(), which are at most blocks_left() blocks.
  /// @return The number of blocks.
  std::size_t add(std::size_t bytes) noexcept;
  /// Occupies the place of one block, but no bytes.
  void add_empty_block() noexcept { ++blocks_; }

  /// The bytes up to the end of the last range.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_bytes_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }
  void clear() noexcept { used_bytes_ = blocks_ = 0; }

 private:
  batch_capacity capacity_;
  std::size_t used_bytes_ = 0;
  std::size_t blocks_ = 0;
};

}  // namespace block_digest
