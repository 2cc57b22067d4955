// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds the parts of recordings on a device, and replays these parts.

#include <memory>
#include <span>

#include "dispatch/batching/batch_lanes.hpp"
#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/grid/grid_limits.hpp"
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
    grid_limits const& limits;
    kernel_profiles& profiles;
    batch_lanes const& places;
    open_waves const& waves;
    failure_reporter& reporter;
  };
  explicit replayer(parts const& with) : parts_(with) {}

  /// Builds the graph of one part of a recording. @throws driver_error, std::bad_alloc
  /// @param actions        The actions of all tasks of the recording.
  /// @param memory_stream  A stream that holds no tasks.
  [[nodiscard]] std::shared_ptr<recorded_part> build(planned_part const& plan,
                                                     change_list const& actions,
                                                     CUstream memory_stream);
  /// Makes a stream wait for `waits` and puts the replay into the stream. @return false if no lane
  /// has room.
  [[nodiscard]] bool start(slot_address task, std::span<end_mark const> waits);

 private:
  [[nodiscard]] unsigned find_lane(priority_level level, std::span<end_mark const> waits) const;
  void refuse(slot_address task, recorded_part const& part, recorded_part::refusal const& refused);

  parts const parts_;
};

}  // namespace flotilla::dispatch
