// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the results of all blocks in the order of the input.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "block_batch.hpp"
#include "console.hpp"
#include "digest_set.hpp"
#include "manifest.hpp"
#include "verification.hpp"

namespace block_digest {

/// Blocks that were recorded.
struct block_counts {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Takes batches in any order and records their blocks in the order of the input. It writes the
/// manifest, counts blocks and bytes, and stores the set of distinct digests.
///
/// Memory: about 60 bytes for each distinct block.
/// Threads: any may call add(). The other functions only while no thread calls add().
class result_collector {
 public:
  /// @param total_bytes  The size of the input for the progress bar, or 0 for no bar.
  /// @param list         The manifest to write, or null.
  result_collector(std::size_t devices, verification const& verifies, console& output,
                   std::uint64_t total_bytes, manifest* list)
      : verifies_{verifies},
        output_{output},
        total_bytes_{total_bytes},
        manifest_{list},
        shares_(devices) {}

  /// Takes the results of the batch, which can be used again afterwards. Prints a failure for each
  /// file that could not be read, for each block without a digest, and for each block whose digest
  /// differs from that of the host.
  /// @return The number of jobs whose results are recorded now.
  std::size_t add(block_batch& batch);

  /// The recorded blocks of each device, and of all devices.
  [[nodiscard]] std::vector<block_counts> const& shares() const noexcept { return shares_; }
  [[nodiscard]] block_counts const& all() const noexcept { return all_; }
  /// The distinct blocks.
  [[nodiscard]] block_counts const& distinct() const noexcept { return distinct_; }
  /// The number of recorded blocks whose digest the host has computed too.
  [[nodiscard]] std::uint64_t verified() const noexcept { return verified_; }

 private:
  // The results of a batch. They are stored until all earlier batches are recorded.
  struct batch_results {
    bool is_last_part;
    std::size_t device;
    std::size_t block_bytes;
    std::vector<block_range> ranges;
    std::vector<digest> digests;
    std::vector<std::size_t> mismatches;
    std::string error;
  };
  using position = std::pair<std::uint64_t, std::uint64_t>;  // job and part

  static batch_results take_results(block_batch& batch);
  void record(batch_results const& results);
  void record(batch_results const& results, block_range const& range);
  [[nodiscard]] bool has_digest(batch_results const& results, block_range const& range,
                                std::size_t i);

  verification verifies_;
  console& output_;
  std::uint64_t total_bytes_;
  manifest* manifest_;
  std::mutex mutex_;  // guards everything below, and *manifest_
  std::vector<block_counts> shares_;
  block_counts all_, distinct_;
  std::uint64_t verified_ = 0;
  digest_set digests_;
  std::map<position, batch_results> early_;
  position next_{};
  shared_path ended_;  // the last file that has no more blocks
};

}  // namespace block_digest
