// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "job_planner.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace block_digest {

void job_planner::add_file(std::string const& path) {
  std::error_code unknown;  // the reader gets the same error and reports it
  std::uintmax_t const size = std::filesystem::file_size(path, unknown);
  auto const file = std::make_shared<input_file>(path);
  if (unknown || size == 0) {
    space_.add_empty_block();  // limits the number of empty files in a job
    add_piece({file, 0, file_piece::to_end, next_block_});
    ++next_block_;
    return;
  }
  std::uint64_t const block_bytes = space_.capacity().block_bytes;
  for (std::uint64_t offset = 0; offset < size;) {
    std::uint64_t const bytes =
        std::min<std::uint64_t>(size - offset, space_.blocks_left() * block_bytes);
    std::size_t const blocks = space_.add(static_cast<std::size_t>(bytes));
    add_piece({file, offset, bytes, next_block_});
    next_block_ += blocks;
    offset += bytes;
  }
}

// Passes the job on if no further block fits.
void job_planner::add_piece(file_piece&& piece) {
  next_.pieces.push_back(std::move(piece));
  if (space_.blocks_left() == 0) { finish(); }
}

void job_planner::finish() {
  if (next_.pieces.empty()) { return; }
  read_job done{next_.number, std::exchange(next_.pieces, {})};
  ++next_.number;
  space_.clear();
  ready_(std::move(done));
}

}  // namespace block_digest
