// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the host does with the digests of a batch, before the batch is recorded.

#include "block_batch.hpp"
#include "verification.hpp"

namespace block_digest {

/// Verifies the digests and writes the lines of the manifest. Several threads do this for different
/// batches, because one thread would be slower than the devices.
///
/// Threads: any, with different batches.
class host_step {
 public:
  host_step(verification const& verifies, bool makes_lines)
      : verifies_{verifies}, makes_lines_{makes_lines} {}

  /// Afterwards, `block_batch::mismatches` has the blocks whose digests differ, and
  /// `block_range::lines` has a line for each other block.
  /// @throws std::runtime_error  libcrypto failed.
  void run(block_batch& batch) const;

 private:
  verification verifies_;
  bool makes_lines_;
};

}  // namespace block_digest
