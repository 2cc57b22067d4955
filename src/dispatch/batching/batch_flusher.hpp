// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches the open batches of a device.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dispatch/batching/grid_run.hpp"
#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/batching/kernel_sampler.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/grid/grid_launcher.hpp"
#include "dispatch/grid/grid_policy.hpp"
#include "dispatch/grid/ordered_launcher.hpp"
#include "dispatch/lane/filling_launches.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// The result of a flush. The caller must end, launch or restart the tasks in it.
struct flush_outcome {
  struct refusal {
    slot_address task;
    driver::call_outcome why;
  };
  std::vector<refusal> refused;         // launches that the driver refused
  std::vector<slot_address> cancelled;  // tasks to end, because they were cancelled
  // Tasks to launch one by one, so that each task gets its own status.
  std::vector<slot_address> alone;
  // Tasks to start again: a predecessor may have been refused, or the lane had no room.
  std::vector<slot_address> again;
  std::vector<CUresult> errors;  // driver errors that belong to no single task
  // Whether a launch got a sticky error. The driver is unusable then, and every open task counts as
  // ended, unless the device is isolated.
  bool lost = false;
  std::vector<slot_address> unlaunched;  // if `lost`: further tasks of the batch
  // Whether tasks of a wave were not launched, and which: tasks of later waves may depend on them.
  std::optional<unsigned> abandoned_after;

  void clear() noexcept {
    refused.clear();
    cancelled.clear();
    alone.clear();
    again.clear();
    errors.clear();
    unlaunched.clear();
    lost = false;
    abandoned_after.reset();
  }
};

/// Moves the lanes that the batch must wait for to its marks: the last batches of these lanes.
void move_lanes_to_marks(open_batch& batch, lane_set const& lanes);

/// Launches open batches, and measures some of them. Threads: only the holder of the
/// device's lease, with the context current.
class batch_flusher {
 public:
  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    dependencies& order;
    lane_set& lanes;
    filling_launches const& filling;
    batch_launcher& launcher;
    grid_policy const& grid_rules;
    grid_launcher& grids;
    ordered_launcher& ordered;
    open_waves& waves;
    kernel_profiles& profiles;
    kernel_sampler& sampler;
    kernel_table const& kernels;
    order_use ordered_grids;
  };
  explicit batch_flusher(parts const& with);

  /// Launches the open batch at `where`, if there is one. The batches of earlier waves must be
  /// launched.
  void flush(batch_place where, flush_outcome& outcome) {
    if (parts_.waves.is_open(where)) { launch_open(where, outcome); }
  }
  /// Launches the open batches of one wave. Those of earlier waves must be launched.
  void flush_wave(unsigned wave, flush_outcome& outcome);
  /// Removes all tasks from the waves after `wave`, to be started again.
  void abandon_waves_after(unsigned wave, flush_outcome& outcome);
  /// Launches tasks without a graph, one after another. One write marks the end of all. The lane's
  /// stream must already wait for the predecessors of the first task.
  /// @return whether all of them were launched.
  bool launch_one_by_one(unsigned lane, std::span<slot_address const> tasks,
                         flush_outcome& outcome);

  // ---- for joint_part ----

  /// Makes the lane's stream wait for the predecessors of the batch, in its lane and others.
  [[nodiscard]] driver::call_outcome enqueue_waits(lane& lane, open_batch& batch);
  /// Removes the tasks from their batch, to be started again.
  void start_again(std::span<slot_address const> tasks, flush_outcome& outcome);
  /// Notes that an ordered grid was launched. @param places  Of its waves.
  void note_ordered(std::span<batch_place const> places, std::uint32_t kernel,
                    std::span<lane::batch* const> batches);

  /// The number of graph launches and single launches so far. Threads: any.
  [[nodiscard]] std::uint64_t launched() const noexcept {
    return launched_.load(std::memory_order_relaxed);
  }

 private:
  /// Launches the open batch at `where`. The batches of earlier waves must be launched. If the
  /// next waves of the lane can be launched with it as one graph, launches them too.
  void launch_open(batch_place where, flush_outcome& outcome);
  /// Returns whether the tasks of the run, which are `tasks`, gain nothing as grids.
  [[nodiscard]] bool goes_as_graph(std::span<slot_address const> tasks) const noexcept {
    return run_.waves() == 1 &&
           run_.groups().groups().size() + run_.groups().others().size() == tasks.size();
  }
  /// Returns the name of a batch for tools: its first task, and how many tasks it has.
  [[nodiscard]] std::string text_of(std::span<slot_address const> tasks) const;
  /// Removes all tasks from the open batch at `where`: ends the cancelled tasks, and starts the
  /// others again, because they may depend on a cancelled task.
  void remove_cancelled(batch_place where, flush_outcome& outcome);
  /// Makes the caller launch the tasks one by one, so that each gets its own status.
  void launch_alone(std::span<slot_address const> tasks, flush_outcome& outcome);
  /// Leaves the tasks to the caller, because the driver is unusable or the device is lost.
  void leave_unlaunched(std::span<slot_address const> tasks, flush_outcome& outcome);
  /// Launches the tasks of a batch. Returns whether all of them were launched.
  bool launch_tasks(lane& lane, std::span<slot_address const> tasks, batch_traits traits,
                    flush_outcome& outcome);
  /// Launches the first tasks of `tasks` as one graph. Returns how many tasks it took from the
  /// front of `tasks`, and sets `refused` if the driver returned an error.
  std::size_t launch_first(lane& lane, std::span<slot_address const> tasks,
                           batch_traits const& traits, flush_outcome& outcome, bool& refused);
  /// Launches the groups of the run as grids, and the other tasks as graphs. Returns whether all
  /// tasks were launched.
  bool launch_run(lane& lane, batch_traits const& traits, flush_outcome& outcome);
  /// Launches the groups of the run as grids. Returns whether they were launched.
  bool launch_groups(lane& lane, batch_traits const& traits, flush_outcome& outcome);
  /// Launches all tasks of the run as one ordered grid. Returns whether they were launched.
  bool launch_ordered(lane& lane, batch_traits const& traits, flush_outcome& outcome);
  /// Handles that the driver refused the groups of the run.
  void refuse_groups(CUresult status, flush_outcome& outcome);
  /// Launches a task that goes alone. Measures it if its kernel is due for a measurement.
  [[nodiscard]] CUresult launch_measured(lane& lane, lane::batch& batch, slot_address task);
  /// Launches `prepared_`. Measures the batch if its kernel is due for a measurement.
  [[nodiscard]] CUresult launch_prepared(lane& lane, batch_traits const& traits);
  /// Records that the batch is in the stream: counts it, and releases the tasks that are parked on
  /// its tasks.
  void commit(lane const& lane, lane::batch const& batch);
  /// Stores when the kernels of the batch were launched.
  void note_kernels(lane::batch const& batch);

  parts const parts_;
  prepared_batch prepared_;
  grid_run run_;
  std::atomic<std::uint64_t> launched_{0};  // written by the holder of the lease
};

}  // namespace flotilla::dispatch
