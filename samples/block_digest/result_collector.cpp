// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "result_collector.hpp"

#include <algorithm>

namespace block_digest {

namespace {

std::string block_name(std::string const& path, std::uint64_t offset, std::uint64_t length) {
  return path + ": block at offset " + std::to_string(offset) + ", " + std::to_string(length) +
         " bytes";
}

}  // namespace

void result_collector::add(block_batch const& batch) {
  early_.emplace(batch.number,
                 batch_results{batch.device.value,
                               batch.capacity.block_bytes,
                               batch.ranges,
                               {batch.digests.begin(), batch.digests.begin() + batch.blocks},
                               batch.mismatches,
                               batch.error});
  for (auto next = early_.find(next_number_); next != early_.end();
       next = early_.find(++next_number_)) {
    record(next->second);
    early_.erase(next);
  }
}

void result_collector::record(batch_results const& results) {
  device_share& share = shares_[results.device];
  for (block_range const& range : results.ranges) {
    manifest_name const name{*range.path};
    for (std::size_t i = 0; i < range.blocks; ++i) {
      std::uint64_t const begin = i * results.block_bytes;
      std::uint64_t const offset = range.file_offset + begin;
      std::uint64_t const length =
          std::min<std::uint64_t>(results.block_bytes, range.bytes - begin);
      std::size_t const index = range.first_block + i;
      if (!results.error.empty()) {
        output_.failure(block_name(*range.path, offset, length), "no digest: " + results.error);
        continue;
      }
      if (std::binary_search(results.mismatches.begin(), results.mismatches.end(), index)) {
        output_.failure(
            block_name(*range.path, offset, length),
            "device " + std::to_string(results.device) + " and the host disagree on its digest");
        continue;
      }
      ++share.blocks;
      share.bytes += length;
      ++blocks_;
      bytes_ += length;
      if (distinct_.insert(results.digests[index]).second) { distinct_bytes_ += length; }
      if (manifest_) { manifest_->line(results.digests[index], offset, length, name); }
    }
  }
}

}  // namespace block_digest
