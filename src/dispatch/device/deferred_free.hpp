#pragma once
// Frees items after the epoch reclaimer has released them.

#include <cuda.h>

#include <chrono>
#include <cstdint>

#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

class device_set;

/// cuMemFreeHost and cuGraphExecDestroy block until the device is idle. During that time this
/// thread could not launch, and a kernel that waits for the host could cause a deadlock. So pinned
/// memory and recorded graphs are freed only while the device is idle, or if more than 256 MiB wait
/// to be freed.
///
/// Threads: only the holder of the device's lease, with the context current.
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
  /// Creates the stream. @throws driver_error
  void create();
  void destroy() noexcept;

  enum class blocking { avoided, allowed };
  /// Frees the items that no open task can use. `blocking::avoided` keeps the items whose release
  /// would block.
  void run(blocking mode = blocking::avoided);
  /// Calls `run` from a pass. While tasks are open, does so at most once per millisecond, because
  /// the search for the oldest open task reads all slots in use.
  void run_in_pass();

  /// Returns a stream that holds no tasks. It is used for allocations, frees and uploads of graphs.
  [[nodiscard]] CUstream memory_stream() const noexcept { return memory_stream_; }

 private:
  [[nodiscard]] bool would_block(epoch_reclaimer::item const& item) const noexcept;
  void free(epoch_reclaimer::item const& item);

  parts const parts_;
  CUstream memory_stream_ = nullptr;
  std::chrono::steady_clock::time_point last_run_{};
};

}  // namespace flotilla::dispatch
