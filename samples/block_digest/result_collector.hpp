// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the results of all blocks in the order of the input.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "block_batch.hpp"
#include "console.hpp"
#include "digest.hpp"
#include "manifest.hpp"

namespace block_digest {

/// The verified blocks of one device.
struct device_share {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Takes batches in any order and records their blocks in the order of the input. It writes the
/// manifest, counts blocks and bytes, and stores the set of distinct digests.
///
/// Memory: about 100 bytes for each distinct block.
class result_collector {
 public:
  /// @param list  The manifest to write, or null.
  result_collector(std::size_t devices, console& output, manifest* list)
      : shares_(devices), output_{output}, manifest_{list} {}

  /// Copies the results of the batch, which can be reused afterwards. Prints a failure for each
  /// block without a digest and for each block whose digest differs from that of the host.
  void add(block_batch const& batch);

  [[nodiscard]] std::vector<device_share> const& shares() const noexcept { return shares_; }
  /// The number and the total size of the verified blocks.
  [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The number and the total size of the distinct verified blocks.
  [[nodiscard]] std::uint64_t distinct_blocks() const noexcept { return distinct_.size(); }
  [[nodiscard]] std::uint64_t distinct_bytes() const noexcept { return distinct_bytes_; }

 private:
  // The results of a batch. They are stored until all earlier batches are recorded.
  struct batch_results {
    std::size_t device;
    std::size_t block_bytes;
    std::vector<block_range> ranges;
    std::vector<digest> digests;
    std::vector<std::size_t> mismatches;
    std::string error;
  };
  void record(batch_results const& results);

  std::vector<device_share> shares_;
  console& output_;
  manifest* manifest_;
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t distinct_bytes_ = 0;
  std::unordered_set<digest> distinct_;
  std::map<std::uint64_t, batch_results> early_;  // the key is block_batch::number
  std::uint64_t next_number_ = 0;
};

}  // namespace block_digest
