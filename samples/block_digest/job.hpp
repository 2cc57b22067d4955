#pragma once
/// The job: reads files, and has their blocks digested, verified and recorded.

#include <cstddef>
#include <cstdint>
#include <string>

#include "console.hpp"
#include "device_scheduler.hpp"
#include "result_collector.hpp"
#include "verifier.hpp"

namespace block_digest {

/// Reads files into batches, passes the batches to the devices, to the verifier and to the result
/// collector. One thread does all of this: it reads, submits, and polls for finished batches.
///
/// Memory: the batches of the scheduler, whatever the size of the input.
class job {
 public:
  /// @param total_bytes  Size of the input for the progress bar; 0 if there is no bar.
  job(device_scheduler& scheduler, result_collector& results, console& output,
      std::uint64_t total_bytes);

  /// Reads a file to its end. If it cannot be opened or read, says so; blocks read before count.
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
  std::size_t in_flight_ = 0;  // batches submitted and not recorded
  std::uint64_t recorded_bytes_ = 0;
  verifier verifier_;  // last: its threads use batches until it is destroyed
};

}  // namespace block_digest
