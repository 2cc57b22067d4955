// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The job: it reads files and sends their blocks through all steps of the program.

#include <cstddef>
#include <cstdint>
#include <string>

#include "console.hpp"
#include "device_scheduler.hpp"
#include "result_collector.hpp"
#include "verifier.hpp"

namespace block_digest {

/// Reads files into batches and passes each batch to a device, then to the verifier, then to the
/// result collector. The calling thread does all of this: it reads, submits, and polls for finished
/// batches.
///
/// Memory: only the batches of the scheduler, independent of the size of the input.
class job {
 public:
  /// @param total_bytes  The size of the input for the progress bar, or 0 for no bar.
  job(device_scheduler& scheduler, result_collector& results, console& output,
      std::uint64_t total_bytes);

  /// Processes all blocks of a file. If the file cannot be opened or read, prints a failure. Blocks
  /// that were read before the error are processed.
  void add_file(std::string const& path);
  /// Submits the last batch and waits until every block is recorded.
  void finish();

 private:
  void add_contents(std::string const& path);
  block_batch& open_batch();
  void submit_batch();
  bool process_finished();

  device_scheduler& scheduler_;
  result_collector& results_;
  console& output_;
  std::uint64_t total_bytes_;
  block_batch* open_ = nullptr;  // the batch that is being filled
  std::uint64_t next_number_ = 0;
  std::size_t in_flight_ = 0;  // number of batches that are submitted but not recorded
  std::uint64_t recorded_bytes_ = 0;
  verifier verifier_;  // destroyed first, because its threads use batches
};

}  // namespace block_digest
