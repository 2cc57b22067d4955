// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which launches form a batch, and which lane the batch uses.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/batching/batch_lanes.hpp"
#include "dispatch/batching/joint_waves.hpp"
#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/batching/unended_predecessors.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/grid/grid_policy.hpp"
#include "dispatch/lane/filling_launches.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// Collects launches in open batches, which batch_flusher launches. Threads: only the holder of the
/// device's lease, with the context current.
class batcher {
 public:
  struct parts {
    task_table const& tasks;
    dependencies& order;
    lane_set& lanes;
    batch_launcher const& launcher;
    grid_policy const& grids;
    open_waves& waves;
    kernel_profiles& profiles;
    batch_lanes& places;
    filling_launches& filling;
    float filling_launch_ns;  // see tuning
  };
  explicit batcher(parts const& with);

  /// Returns whether the launch must not share a batch with other tasks.
  [[nodiscard]] bool goes_alone(slot const& task) const {
    return !task.batch || !parts_.launcher.usable() ||
           (task.dependencies > 1 && loses_in_batch(task));
  }

  /// Records that a launch goes alone to a lane.
  void note_alone(slot const& task, unsigned lane) {
    if (loses_in_batch(task)) { parts_.filling.note(lane); }
  }

  /// Tells the caller of `add` or `follow` what to do next.
  struct step {
    enum class kinds {
      added,        // the launch is in an open batch
      full,         // like `added`, but the batch at `where` is full: flush it
      flush_first,  // flush the batch at `where`, then add the launch again
      // call launch_one_by_one for the lane at `where`, whose stream already waits for the
      // predecessors
      alone,
      no_room,  // no lane has room: try again in the next pass
      refused,  // the driver refused a wait in the lane's stream
    } kind;
    batch_place where{0, lane_layout::no_lane};
    driver::call_outcome why{};
  };
  /// Adds a launch to the open batch of a lane that batch_lanes::of_burst has returned for it. In a
  /// burst of launches of one kernel this is the usual case. Returns whether the batch is full now;
  /// in that case the caller must flush it.
  [[nodiscard]] bool append(slot_address task, unsigned lane) { return put(task, {0, lane}); }
  /// Adds a launch to the wave after its predecessors, if a launch like it is there already. While
  /// a thread submits steps of tasks of one kernel, this is the usual case. Cheaper than `follow`,
  /// with the same effect.
  /// @param ahead    The open batch of the last wave with a predecessor. All other predecessors are
  ///                 in open batches of the same lane.
  /// @param is_only  Whether all predecessors are in this batch.
  /// @return whether the launch was added.
  [[nodiscard]] bool join_step(slot_address task, batch_place ahead, bool is_only);
  /// Adds a launch with predecessors in open batches, of this device or of others that this thread
  /// drives too. It joins the chain of its predecessor, or
  /// goes into the wave after its predecessors.
  /// @return no_room if there are too many waves.
  [[nodiscard]] step follow(slot_address task, unended_predecessors const& before);
  /// Adds a launch to which neither `append` nor `follow` applies.
  /// @param waits        The predecessors for which the lane must wait.
  /// @param device_wait  The entry of `waits` for which a spin kernel in the batch waits, instead
  /// of the stream. Not valid if there is none.
  /// @param alone        Whether the launch must not share a batch with other tasks.
  [[nodiscard]] step add(slot_address task, std::span<end_mark const> waits, end_mark device_wait,
                         bool alone);
  /// Returns the tasks that were parked on a task of an open batch and can now follow that task.
  /// The caller removes them from the vector and starts them.
  [[nodiscard]] std::vector<slot_address>& runnable() noexcept { return runnable_; }
  /// From now on, tasks may follow tasks of these devices too. Null: only those of this device.
  void drive_with(joint_waves const* joint);
  /// Looks again which tasks are parked on tasks of open batches, and can follow them.
  void resume_followers();
  /// Sets how many tasks wait to be launched. Call it in each pass, before the pass takes new
  /// tasks.
  void set_waiting(std::size_t tasks) noexcept { waiting_ = tasks; }

 private:
  /// Returns whether the launch fills the device for so long that the host can launch others
  /// meanwhile. Such launches run one after another anyway. In a batch, the tasks that follow one
  /// of them would wait for all of them.
  [[nodiscard]] bool loses_in_batch(slot const& task) const;
  [[nodiscard]] std::size_t at_hand() const noexcept {
    return parts_.lanes.launches_in_flight() + waiting_;
  }
  /// Adds the task to the batch at `where`. Returns whether the batch is full now.
  bool put(slot_address task, batch_place where);
  /// The same without an update of the traits of the batch, which must be open.
  bool put_like_others(slot_address task, open_batch& batch, batch_place where);
  /// Adds the launch to the batch at `where`, if that is open and has launches like this one.
  /// @return whether it was added
  bool put_in_step(slot_address task, batch_place where);
  /// Makes the tasks runnable that are parked on a task of an open batch.
  void resume_parked_on(slot_address task);
  /// Updates the traits of the batch for a launch that is added to it.
  void join(open_batch& batch, slot const& task) const;
  [[nodiscard]] step added(slot_address task, batch_place where) {
    return {put(task, where) ? step::kinds::full : step::kinds::added, where};
  }
  /// Chooses the maximum size of an open batch that begins with this launch.
  void set_size(open_batch& batch, slot const& first, std::uint32_t max_tasks) const;
  /// Returns whether the launch may become the next task of the chain at `where`, instead of going
  /// into the next wave.
  [[nodiscard]] bool extends_chain(slot const& task, unended_predecessors const& before,
                                   batch_place where);
  /// Begins an open batch of wave 0 for tasks without predecessors, or for one task that waits for
  /// another device.
  void begin(unsigned lane, slot const& first, batch_shape const& shape, end_mark device_wait);
  /// Begins an open batch whose tasks have predecessors.
  void begin_after(batch_place where, slot const& first, batch_shape const& shape);

  /// Returns the wave after all of these predecessors.
  [[nodiscard]] static unsigned wave_after(unended_predecessors const& before) noexcept;
  /// Notes that the batch at `where` runs after the predecessors.
  void follow_all(batch_place where, unended_predecessors const& before);

  parts const parts_;
  joint_waves const* joint_ = nullptr;
  // Where resumed tasks go, by device.
  std::vector<std::vector<slot_address>*> runnable_of_;
  // By level: the lane of the open batch that takes launches of any kernel.
  std::array<unsigned, priority_levels> filling_;
  std::size_t waiting_ = 0;
  unsigned lane_of_step_ = 0;  // of the last task that followed a task of another device
  std::vector<slot_address> runnable_;
};

}  // namespace flotilla::dispatch
