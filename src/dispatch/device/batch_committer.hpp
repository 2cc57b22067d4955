#pragma once
// Commits batches of one task: copies, callables, pieces of copies.

#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease, with the context current.
class batch_committer {
 public:
  batch_committer(runtime_parts const& shared, lane_set& lanes, failure_reporter& reporter)
      : shared_(shared), lanes_(lanes), reporter_(reporter) {}

  /// Commits the batches that were begun, and tells the lane's stream to write their number.
  void finish(lane& lane) {
    lanes_.set_busy(lane);
    reporter_.note(lane.commit_with_write());
  }
  /// The task is in the stream, as this batch. Afterwards its slot may be touched only to end the
  /// task.
  void launched(slot_address task, lane& lane, lane::batch& batch) {
    batch.tasks[batch.count++] = task;
    end_mark const end = end_mark::of(lanes_.device(), lane.index(), batch.number);
    // The write of the number comes first, because a thread of another device may make a stream
    // wait for it as soon as the task counts as launched.
    finish(lane);
    shared_.order.mark_launched({&task, 1}, end);
  }

 private:
  runtime_parts const& shared_;
  lane_set& lanes_;
  failure_reporter& reporter_;
};

}  // namespace flotilla::dispatch
