// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "result_collector.hpp"

#include <algorithm>

namespace block_digest {

namespace {

// How many blocks ahead the set of digests fetches its memory.
constexpr std::size_t prefetch_blocks = 16;

std::size_t length_of(std::size_t block_bytes, block_range const& range, std::size_t i) {
  return std::min(block_bytes, range.bytes - i * block_bytes);
}

}  // namespace

std::size_t result_collector::add(block_batch& batch) {
  position const where{batch.position.job, batch.position.part};
  batch_results results = take_results(batch);
  std::lock_guard const lock{mutex_};
  early_.emplace(where, std::move(results));
  std::size_t jobs = 0;
  for (auto first = early_.begin(); first != early_.end() && first->first == next_;
       first = early_.erase(first)) {
    record(first->second);
    bool const is_last = first->second.is_last_part;
    next_ = is_last ? position{next_.first + 1, 0} : position{next_.first, next_.second + 1};
    jobs += is_last ? 1 : 0;
  }
  output_.progress(all_.bytes, total_bytes_);
  return jobs;
}

result_collector::batch_results result_collector::take_results(block_batch& batch) {
  return {batch.position.is_last_part,
          batch.device.value,
          batch.space().capacity().block_bytes,
          std::move(batch.ranges),
          {batch.digests.begin(), batch.digests.begin() + batch.blocks()},
          std::move(batch.mismatches),
          std::move(batch.error)};
}

void result_collector::record(batch_results const& results) {
  for (block_range const& range : results.ranges) {
    if (range.path == ended_) { continue; }
    record(results, range);
    if (!range.failure.empty()) { output_.failure(*range.path, range.failure); }
    if (range.ends_file) { ended_ = range.path; }
  }
}

void result_collector::record(batch_results const& results, block_range const& range) {
  block_counts& share = shares_[results.device];
  for (std::size_t i = 0; i < range.blocks; ++i) {
    std::size_t const index = range.first_block + i;
    if (index + prefetch_blocks < results.digests.size()) {
      digests_.prefetch(results.digests[index + prefetch_blocks]);
    }
    if (!has_digest(results, range, i)) { continue; }
    std::uint64_t const length = length_of(results.block_bytes, range, i);
    bool const is_new = digests_.insert(results.digests[index]);
    for (block_counts* each : {&share, &all_, is_new ? &distinct_ : nullptr}) {
      if (each == nullptr) { continue; }
      ++each->blocks;
      each->bytes += length;
    }
    if (verifies_.covers(range.first_number + i)) { ++verified_; }
  }
  if (manifest_ != nullptr) { manifest_->write(range.lines); }
}

// Returns whether block `i` of the range has a digest that is not known to be wrong. Otherwise
// prints a failure.
bool result_collector::has_digest(batch_results const& results, block_range const& range,
                                  std::size_t i) {
  bool const is_wrong = std::ranges::binary_search(results.mismatches, range.first_block + i);
  if (results.error.empty() && !is_wrong) { return true; }
  std::string const block = *range.path + ": block at offset " +
                            std::to_string(range.file_offset + i * results.block_bytes) + ", " +
                            std::to_string(length_of(results.block_bytes, range, i)) + " bytes";
  output_.failure(block, is_wrong ? "device " + std::to_string(results.device) +
                                        " and the host disagree on its digest"
                                  : "no digest: " + results.error);
  return false;
}

}  // namespace block_digest
