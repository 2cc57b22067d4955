// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds the parts of recordings on a device, and replays these parts.

#include <chrono>
#include <memory>
#include <span>
#include <vector>

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
  /// @param group          The group of the part, or null.
  /// @param memory_stream  A stream that holds no tasks.
  [[nodiscard]] std::shared_ptr<recorded_part> build(planned_part const& plan,
                                                     change_list const& actions,
                                                     std::shared_ptr<replay_group> group,
                                                     std::uint32_t number_in_group,
                                                     CUstream memory_stream);
  /// Makes a stream wait for `waits` and puts the replay into the stream. If another replay over
  /// several devices has its turn, keeps the task. @return false if no lane has room.
  [[nodiscard]] bool start(slot_address task, std::span<end_mark const> waits);
  /// The tasks that must be started again, because another replay had its turn. They do not count
  /// as tasks that wait for room: the part that ends the turn may be behind any number of them.
  [[nodiscard]] std::vector<slot_address>& out_of_turn() noexcept { return out_of_turn_; }
  /// Notes that the batch of a part that exchanges with other devices has ended.
  void note_end(slot_address task) const;
  /// Starts no part that exchanges with other devices for a moment, because a launch waits until
  /// such parts have ended. Otherwise, a program that always has replays in flight would hold up
  /// the launch forever.
  void let_pass() noexcept { passes_until_ = std::chrono::steady_clock::now() + max_pass; }

 private:
  /// @param exchanges  Whether the part waits for other parts.
  [[nodiscard]] unsigned find_lane(priority_level level, std::span<end_mark const> waits,
                                   bool exchanges) const;
  /// Returns whether the mark's task is the last work of its lane.
  [[nodiscard]] bool is_last(end_mark mark) const;
  /// @throws invalid_argument  There are too many parts, or this device has no kernels that wait
  /// for other devices.
  void check_exchanges(replay_group const& group) const;
  void refuse(slot_address task, recorded_part const& part, recorded_part::refusal const& refused);

  static constexpr std::chrono::milliseconds max_pass{10};

  parts const parts_;
  std::chrono::steady_clock::time_point passes_until_{};
  std::vector<slot_address> out_of_turn_;
};

}  // namespace flotilla::dispatch
