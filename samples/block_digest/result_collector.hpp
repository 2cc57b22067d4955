#pragma once
/// Collects the result of every block, in the order of the input.

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

/// The blocks of one device whose digests agree.
struct device_share {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Takes batches in any order and records their blocks in the order of the input: in the manifest,
/// in the sums, and in the set of distinct digests. Keeps about 100 bytes per distinct block, no
/// contents.
class result_collector {
 public:
  /// @param list  Null if no manifest is wanted.
  result_collector(std::size_t devices, console& output, manifest* list)
      : shares_(devices), output_{output}, manifest_{list} {}

  /// Takes over what it needs of the batch, which may be used again afterwards. Prints each block
  /// that failed or whose digest differs.
  void add(block_batch const& batch);

  [[nodiscard]] std::vector<device_share> const& shares() const noexcept { return shares_; }
  /// Blocks and bytes whose digests agree.
  [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Of these, the blocks that are equal to no earlier one, and their bytes.
  [[nodiscard]] std::uint64_t distinct_blocks() const noexcept { return distinct_.size(); }
  [[nodiscard]] std::uint64_t distinct_bytes() const noexcept { return distinct_bytes_; }

 private:
  // The results of a batch, kept until all earlier batches were recorded.
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
  std::map<std::uint64_t, batch_results> early_;  // by block_batch::number
  std::uint64_t next_number_ = 0;
};

}  // namespace block_digest
