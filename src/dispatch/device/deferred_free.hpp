#pragma once
// Frees the items that the epoch reclaimer releases.

#include <cuda.h>

#include <chrono>
#include <cstdint>

#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

class device_set;

/// cuMemFreeHost and cuGraphExecDestroy block until the device is idle. That would keep this thread
/// from launching, and can deadlock with a kernel that waits for the host. So such items stay until
/// the device is idle, or until they hold 256 MiB.
///
/// Only the holder of the device's lease, with the context current.
class deferred_free {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set const& lanes;
    device_set const& devices;
    failure_reporter& reporter;
  };
  explicit deferred_free(parts const& with) : parts_(with) {}
  /// @throws driver_error
  void create();
  void destroy() noexcept;

  enum class blocking { avoided, allowed };
  /// Frees the items that no open task can use.
  void run(blocking mode = blocking::avoided);
  /// The same for a pass. Does not run in every pass, because finding the oldest open task reads
  /// all slots in use.
  void run_in_pass();

  /// A stream for allocations and frees, and nothing else.
  [[nodiscard]] CUstream memory_stream() const noexcept { return memory_stream_; }

 private:
  [[nodiscard]] bool would_block(epoch_reclaimer::item const& item) const noexcept;
  void free(epoch_reclaimer::item const& item);

  parts const parts_;
  CUstream memory_stream_ = nullptr;
  std::chrono::steady_clock::time_point last_run_{};
};

}  // namespace flotilla::dispatch
