// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "host_step.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host_sha256.hpp"
#include "manifest.hpp"

namespace block_digest {

namespace {

void verify(block_batch& batch, verification const& verifies) {
  thread_local host_sha256 sha256;
  for (block_range const& range : batch.ranges) {
    for (std::size_t i = 0; i < range.blocks; ++i) {
      if (!verifies.covers(range.first_number + i)) { continue; }
      std::size_t const begin = range.batch_offset + i * batch.space().capacity().block_bytes;
      std::span const block = batch.contents.span().subspan(begin, batch.block_bytes(range, i));
      std::size_t const index = range.first_block + i;
      if (sha256.compute(block) != batch.digests[index]) { batch.mismatches.push_back(index); }
    }
  }
}

void make_lines(block_batch& batch) {
  std::uint64_t const block_bytes = batch.space().capacity().block_bytes;
  for (block_range& range : batch.ranges) {
    manifest_name const name{*range.path};
    for (std::size_t i = 0; i < range.blocks; ++i) {
      std::size_t const index = range.first_block + i;
      if (std::ranges::binary_search(batch.mismatches, index)) { continue; }
      append_line(range.lines, batch.digests[index], range.file_offset + i * block_bytes,
                  batch.block_bytes(range, i), name);
    }
  }
}

}  // namespace

void host_step::run(block_batch& batch) const {
  if (!verifies_.covers_none()) { verify(batch, verifies_); }
  if (makes_lines_) { make_lines(batch); }
}

}  // namespace block_digest
