#pragma once
/// What became of every block, in the order of the input.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "console.hpp"
#include "digest.hpp"
#include "manifest.hpp"
#include "tray.hpp"

namespace block_digest {

/// What one device did.
struct device_share {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Takes trays as they come back, in any order, and books their blocks in order: into the manifest,
/// the sums, and the set of distinct digests. Keeps some 100 bytes a distinct block, no contents.
class ledger {
 public:
  /// @param list  Null: no manifest is wanted.
  ledger(std::size_t devices, console& names, manifest* list)
      : shares_(devices), names_{names}, list_{list} {}

  /// Books the tray, which may be used again afterwards. Blocks that differ or failed are named.
  void add(tray const& checked);

  [[nodiscard]] std::vector<device_share> const& shares() const noexcept { return shares_; }
  /// Blocks and bytes whose digests agree.
  [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Of these, the blocks that equal no earlier one, and their bytes.
  [[nodiscard]] std::uint64_t distinct_blocks() const noexcept { return distinct_.size(); }
  [[nodiscard]] std::uint64_t distinct_bytes() const noexcept { return distinct_bytes_; }

 private:
  // What is left of a tray that came before its turn.
  struct page {
    std::size_t device;
    std::size_t block_bytes;
    std::vector<run> runs;
    std::vector<digest> digests;
    std::vector<std::size_t> wrong;
    std::string error;
  };
  void book(page const& next);

  std::vector<device_share> shares_;
  console& names_;
  manifest* list_;
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t distinct_bytes_ = 0;
  std::unordered_set<digest> distinct_;
  std::map<std::uint64_t, page> early_;  // by tray::number
  std::uint64_t next_number_ = 0;
};

}  // namespace block_digest
