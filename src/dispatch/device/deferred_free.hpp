// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frees the memory, the graphs and the failures that the epoch reclaimer has released.

#include <chrono>
#include <cstdint>

#include "dispatch/device/device_memory.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

class device_set;

/// cuMemFreeHost and cuGraphExecDestroy block until the device is idle. While the calling thread is
/// blocked, it cannot launch tasks, and a kernel that waits for the host could wait forever. So
/// pinned memory and recorded graphs are freed only while the device is idle, or after more than
/// 256 MiB of them have accumulated.
///
/// Threads: only the holder of the device's lease, with the context current.
class deferred_free {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set const& lanes;
    device_set const& devices;
    device_memory& memory;
    failure_reporter& reporter;
  };
  explicit deferred_free(parts const& with) : parts_(with) {}

  enum class blocking { avoided, allowed };
  /// Frees the items that no open task can use. With `blocking::avoided`, an item whose release
  /// would block is freed later.
  void run(blocking mode = blocking::avoided);
  /// Calls `run`. While tasks are open, calls it at most once per millisecond, because `run`
  /// searches all slots for the oldest open task.
  void run_in_pass();

 private:
  [[nodiscard]] bool would_block(epoch_reclaimer::item const& item) const noexcept;
  void free(epoch_reclaimer::item const& item);

  parts const parts_;
  std::chrono::steady_clock::time_point last_run_{};
};

}  // namespace flotilla::dispatch
