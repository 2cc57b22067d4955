// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Jobs for the readers.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "input_file.hpp"

namespace block_digest {

/// A part of a file. It begins at the start of a block.
struct file_piece {
  /// The piece reaches to the end of the file, which is not known yet.
  static constexpr std::uint64_t to_end = std::numeric_limits<std::uint64_t>::max();

  std::shared_ptr<input_file> file;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t first_number;  ///< number of the first block in the order of the input
};

/// What one reader reads at once: about a batch of small files, or a part of a large file.
struct read_job {
  std::uint64_t number = 0;  ///< position in the order of the input
  std::vector<file_piece> pieces{};
};

}  // namespace block_digest
