// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds the parts of recordings on a device, and replays these parts.

#include <memory>
#include <span>

#include "dispatch/batching/batcher.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/recording/recording_plan.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current.
class replayer {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    completion_page const& page;
    lane_set& lanes;
    batch_launcher& launcher;
    batcher const& batches;
    open_waves const& waves;
    failure_reporter& reporter;
  };
  explicit replayer(parts const& with) : parts_(with) {}

  /// Builds the graph of one part of a recording. @throws driver_error
  /// @param idle_stream  A stream that holds no tasks. The call may wait for this stream.
  [[nodiscard]] std::shared_ptr<recorded_part> build(planned_part const& plan,
                                                     std::span<recorded_action const> actions,
                                                     CUstream idle_stream);
  /// Makes a stream wait for `waits` and puts the replay into the stream. @return false if no lane
  /// has room.
  [[nodiscard]] bool start(slot_address task, std::span<end_mark const> waits);

 private:
  [[nodiscard]] unsigned find_lane(priority_level level, std::span<end_mark const> waits) const;
  void refuse(slot_address task, recorded_part const& part, recorded_part::refusal const& refused);

  parts const parts_;
};

}  // namespace flotilla::dispatch
