// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commits the batches that contain a copy, a fill, a callable or a piece of a staged copy.

#include <algorithm>
#include <cstdint>
#include <span>

#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/lane/filling_launches.hpp"
#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current.
class batch_committer {
 public:
  batch_committer(runtime_parts const& shared, lane_set& lanes, failure_reporter& reporter)
      : shared_(shared), lanes_(lanes), reporter_(reporter) {}

  /// Commits the batches that were begun in the lane, and enqueues their completion write.
  void finish(lane& lane) {
    lanes_.set_busy(lane);
    reporter_.note(lane.commit_with_write());
  }
  /// Puts `task` into `batch`, commits the batch, and marks the task as launched. The task is the
  /// only one in the batch, and its work is already in the stream. Afterwards the task's slot may
  /// be used only to end the task.
  /// @param filling May end the batch with an event. Null for lanes of callables, whose streams may
  /// be captured.
  void launched(slot_address task, lane& lane, lane::batch& batch,
                filling_launches const* filling = nullptr) {
    launched({&task, 1}, lane, batch, filling);
  }
  /// The same for several tasks, which end together.
  void launched(std::span<slot_address const> tasks, lane& lane, lane::batch& batch,
                filling_launches const* filling) {
    std::copy(tasks.begin(), tasks.end(), batch.tasks.begin());
    batch.count = static_cast<std::uint32_t>(tasks.size());
    end_mark const end = end_mark::of(lanes_.device(), lane.index(), batch.number);
    // As soon as the task is marked as launched, a thread that drives another device may make a
    // stream wait for the end of the task. So enqueue first what marks the end.
    if (filling == nullptr) {
      finish(lane);
    } else {
      lanes_.set_busy(lane);
      reporter_.note(filling->commit(lane, batch.number));
    }
    shared_.order.mark_launched(tasks, end);
  }

 private:
  runtime_parts const& shared_;
  lane_set& lanes_;
  failure_reporter& reporter_;
};

}  // namespace flotilla::dispatch
