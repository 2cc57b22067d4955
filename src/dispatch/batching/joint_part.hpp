// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one device contributes to grids of several devices that wait for each other.

#include <cstdint>
#include <span>

#include "dispatch/batching/batch_flusher.hpp"
#include "dispatch/batching/grid_run.hpp"
#include "dispatch/grid/ordered_launcher.hpp"

namespace flotilla::dispatch {

/// Joint_run fills `run`, and then calls `begin` for all devices, `prepare` for all, `start` for
/// all, and `commit` for all. Threads: only the holder of the device's lease, with the context
/// current.
class joint_part {
 public:
  struct parts {
    task_table const& tasks;
    lane_set& lanes;
    open_waves& waves;
    ordered_launcher& ordered;
    batch_flusher& flusher;
    order_use use;
  };
  joint_part(parts const& with, grid_policy const& policy, kernel_profiles& profiles)
      : parts_(with), run_({with.tasks, with.lanes, with.waves, policy, profiles, with.use}) {}

  /// The waves of the device. Empty until they are added.
  [[nodiscard]] grid_run& run() noexcept { return run_; }
  [[nodiscard]] bool may_order() const noexcept { return parts_.use != order_use::never; }

  /// The last run of the device that was launched together with others.
  struct record {
    std::uint64_t id = 0;            // 0: there is none, or its tasks were started again
    end_mark last{};                 // the end of its last wave
    std::uint64_t first_number = 0;  // the number of its first wave
    ordered_part grid{};
  };
  [[nodiscard]] record const& last() const noexcept { return last_; }
  /// Whether nothing was launched in its lane since.
  [[nodiscard]] bool is_last_in_lane() const noexcept;
  /// Whether no such run is in flight in another lane.
  [[nodiscard]] bool may_run_in(unsigned lane) const noexcept;
  /// The end of all that must have ended in the lane before a run there begins.
  /// @param follows  Whether the run follows the last one. Then this may still be running.
  [[nodiscard]] end_mark end_before(unsigned lane, bool follows) const noexcept;

  /// Moves the lanes that the batch must wait for to its marks.
  void move_lanes_to_marks(open_batch& batch) const {
    dispatch::move_lanes_to_marks(batch, parts_.lanes);
  }
  /// Begins the launch of the tasks. @return no words if they must be launched in another way.
  [[nodiscard]] ordered_part begin() noexcept;
  /// Makes the graph of the run, and its stream wait. @param others  The grids for which it may
  /// wait, with its own.
  /// @return whether the driver accepted it. If not, the tasks were taken out of their batches.
  bool prepare(ordered_parts const& others, flush_outcome& outcome);
  /// Launches the run. @return whether the driver accepted it. If not, as above.
  bool start(flush_outcome& outcome);
  /// After all runs were launched, or one was refused: makes the tasks run, or starts them again.
  /// @param id  The number of all runs that are launched together.
  void commit(std::uint64_t id, bool runs, flush_outcome& outcome);
  /// Undoes `begin`. The batches stay open.
  void give_up() noexcept;
  /// Undoes `begin` and `prepare`, and takes the tasks out of their batches, to be started again.
  void abandon(flush_outcome& outcome);

 private:
  void give_up_launches() noexcept;
  void refuse(CUresult status, flush_outcome& outcome);

  parts const parts_;
  grid_run run_;
  bool is_prepared_ = false;
  record last_;
};

}  // namespace flotilla::dispatch
