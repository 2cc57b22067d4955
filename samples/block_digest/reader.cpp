// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "reader.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace block_digest {

void reader::run(read_job&& job) {
  open_batch({.job = job.number});
  for (file_piece& piece : job.pieces) {
    if (batch_ == nullptr) { return; }
    read(piece);
    piece.file.reset();  // the last piece of a file closes it
  }
  if (batch_ != nullptr) { pass_on(true); }
}

void reader::read(file_piece const& piece) {
  std::uint64_t const block_bytes = batch_->space().capacity().block_bytes;
  std::uint64_t done = 0;
  while (done < piece.bytes) {
    std::span<std::byte> const space = batch_->free_space();
    if (space.empty()) {
      batch_position const here = batch_->position;
      pass_on(false);
      open_batch({.job = here.job, .part = here.part + 1});
      if (batch_ == nullptr) { return; }
      continue;
    }
    auto const wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(space.size(), piece.bytes - done));
    auto [bytes, error] = piece.file->read_at(piece.offset + done, space.first(wanted));
    // The block in which the error occurred is incomplete.
    if (error) { bytes -= bytes % block_bytes; }
    if (bytes != 0) {
      batch_->add(piece.file->path(), piece.offset + done, piece.first_number + done / block_bytes,
                  bytes);
    }
    if (error || bytes < wanted) {
      batch_->end_file(piece.file->path(), error ? error.message() : std::string{});
      return;
    }
    done += bytes;
  }
}

void reader::open_batch(batch_position const& position) {
  batch_ = pool_.take(stop_);
  if (batch_ != nullptr) { batch_->position = position; }
}

void reader::pass_on(bool is_last_part) {
  batch_->position.is_last_part = is_last_part;
  filled_(*std::exchange(batch_, nullptr));
}

}  // namespace block_digest
