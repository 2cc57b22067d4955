// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "block_batch.hpp"

#include <algorithm>
#include <utility>

namespace block_digest {

block_batch::block_batch(flotilla::runtime& rt, batch_capacity const& capacity)
    : contents{rt, capacity.bytes},
      places{rt, capacity.blocks},
      digests{rt, capacity.blocks},
      space_{capacity} {}

std::span<std::byte> block_batch::free_space() {
  return contents.subspan(space_.next_offset(),
                          space_.blocks_left() * space_.capacity().block_bytes);
}

void block_batch::add(shared_path path, std::uint64_t file_offset, std::uint64_t first_number,
                      std::size_t bytes) {
  block_range range{.path = std::move(path),
                    .file_offset = file_offset,
                    .first_number = first_number,
                    .batch_offset = space_.next_offset(),
                    .bytes = bytes,
                    .first_block = space_.blocks()};
  range.blocks = space_.add(bytes);
  for (std::size_t i = 0; i < range.blocks; ++i) {
    std::size_t const offset = range.batch_offset + i * space_.capacity().block_bytes;
    places[range.first_block + i] = {static_cast<unsigned>(offset),
                                     static_cast<unsigned>(block_bytes(range, i))};
  }
  ranges.push_back(std::move(range));
}

void block_batch::end_file(shared_path path, std::string failure) {
  ranges.push_back({.path = std::move(path), .ends_file = true, .failure = std::move(failure)});
}

void block_batch::clear() {
  contents_in_flow = {};
  places_in_flow = {};
  digests_in_flow = {};
  ranges.clear();
  space_.clear();
  error.clear();
  mismatches.clear();
}

std::size_t block_batch::block_bytes(block_range const& range, std::size_t i) const noexcept {
  std::size_t const size = space_.capacity().block_bytes;
  return std::min(size, range.bytes - i * size);
}

}  // namespace block_digest
