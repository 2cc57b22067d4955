// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds out what a task must wait for before the task can go into a stream.

#include <memory>
#include <vector>

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// The combined state of all predecessors of a task.
struct resolution {
  enum class kinds {
    ready,        // the task may start; its stream must wait for `waits`
    stopped,      // the task is parked, or the driver is poisoned: ignore the task
    failed,       // a predecessor failed, so the task fails too
    flush_first,  // launch the open batch of `lane`, then resolve again
  } kind;
  // If `ready`: the lane whose open batch the task joins, or no_lane. If `flush_first`: the lane
  // whose open batch must be launched.
  unsigned lane = lane_layout::no_lane;
  std::shared_ptr<failure const> cause{};  // if `failed`: the failure of the predecessor
};

/// Threads: only the holder of the device's lease.
class predecessors {
 public:
  predecessors(runtime_parts const& shared, unsigned device) : shared_(shared), device_(device) {}

  /// Checks all predecessors of the task. Parks the task if a predecessor is neither launched nor
  /// in an open batch of this device.
  /// @param may_join  Whether the task may join the open batch of a predecessor.
  /// @param waits     Receives the marks that the task's stream must wait for. Cleared first.
  [[nodiscard]] resolution resolve(slot_address task, bool may_join, std::vector<end_mark>& waits);

 private:
  [[nodiscard]] task_key key_of(slot_address task, std::size_t i) const noexcept;

  runtime_parts const& shared_;
  unsigned const device_;
};

}  // namespace flotilla::dispatch
