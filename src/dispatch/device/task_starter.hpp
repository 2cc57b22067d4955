// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starts tasks: puts each task into a stream, parks the task, or queues it until there is room.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/batching/batcher.hpp"
#include "dispatch/device/callable_runner.hpp"
#include "dispatch/device/chunk_starter.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/engine_batches.hpp"
#include "dispatch/device/event_waits.hpp"
#include "dispatch/device/kernel_copies.hpp"
#include "dispatch/device/memory_ops.hpp"
#include "dispatch/device/predecessors.hpp"
#include "dispatch/device/replayer.hpp"
#include "dispatch/device/wave_flusher.hpp"
#include "dispatch/lane/filling_launches.hpp"
#include "dispatch/queue/priority_queues.hpp"

namespace flotilla::dispatch {

/// The batcher starts no tasks itself: each of its functions returns the step that must come next.
/// This class executes the steps in loops, so the steps do not call each other recursively.
///
/// Threads: only the holder of the device's lease, with the context current.
class task_starter {
 public:
  struct parts {
    runtime_parts const& shared;
    lane_set& lanes;
    filling_launches const& filling;
    predecessors& before;
    open_waves const& waves;
    kernel_profiles& profiles;
    batch_lanes const& places;
    batcher& batches;
    wave_flusher& flusher;
    device_side_waits& device_waits;
    memory_ops& copies;
    engine_batches& engines;
    kernel_copies const& in_kernels;
    replayer& replays;
    chunk_starter& chunks;
    callable_runner& callables;
    event_waits& events;
    failure_reporter& reporter;
    bool has_others;  // whether the runtime has several devices
  };
  explicit task_starter(parts const& with) : parts_(with) {}

  /// Starts the task, and then the parked tasks that become runnable.
  void start(slot_address task) {
    start_one(task);
    start_followers();
  }
  /// Sets how many tasks the caller is about to start. A small copy that is one of several becomes
  /// a launch, and a larger one of many goes to a copy engine together with others.
  void expect(std::size_t tasks) noexcept { expected_ = tasks; }
  /// Starts several tasks. Prefetches their slots, because the slots are in the caches of other
  /// cores.
  /// @param until_parked_elsewhere  Whether to stop after a task that was parked on a task of
  /// another device, and may join a joint pass.
  /// @return how many tasks were started.
  std::size_t start_all(std::span<slot_address const> tasks, bool until_parked_elsewhere = false);

  /// Returns the tasks that wait for room, by level.
  [[nodiscard]] priority_queues const& waiting() const noexcept { return waiting_; }
  /// Tries to start the waiting tasks of this level while there is room. @return whether any task
  /// was started.
  bool retry_waiting(priority_level level);
  /// Returns whether a task was held back for a device-side wait since the last `forget_kept` (see
  /// device_side_waits::should_keep).
  [[nodiscard]] bool has_kept() const noexcept { return kept_; }
  void forget_kept() noexcept { kept_ = false; }
  /// Makes the next passes start these tasks, in this order, before all others. Their launches were
  /// given up, because the device was lost.
  void start_first(std::span<slot_address const> tasks);
  /// Moves all waiting tasks to the end of `tasks`.
  void move_waiting_to(std::vector<slot_address>& tasks) { waiting_.move_to(tasks); }

  /// Launches the open batches of all levels above 0.
  void flush_urgent();
  /// Launches all open batches, the urgent ones first, and the copies that wait for them.
  void flush_all();

  // ---- the steps of `flush_all`, for joint_pass ----

  /// Starts the tasks that became runnable when other tasks were started. They are started in a
  /// loop, because recursion would be as deep as the longest chain of parked tasks.
  void start_followers();
  /// Starts the copies whose predecessors were in open batches. @return whether there are any.
  bool start_behind_open();
  /// Takes all tasks out of the open batches, without any call of the driver. They wait for room.
  void give_up_open();

 private:
  /// Starts one task.
  /// @param alone  Whether to launch the task without others. A task is launched alone after a
  /// batch that contained it has failed, so that each task gets its own status.
  void start_one(slot_address task, bool alone = false);
  /// Starts a launch whose predecessors are resolved.
  /// @return false if the caller must resolve the predecessors again.
  bool start_launch(slot_address task, bool alone);
  /// Starts a launch that has predecessors in open batches.
  bool start_follower(slot_address task, bool alone);
  void start_other(slot_address task);
  /// Returns whether a copy or fill becomes a launch, although a copy engine could execute it. For
  /// a single copy that waits for no open batch, the copy engine is better.
  [[nodiscard]] bool joins_launches(slot& task) const;
  /// Returns whether a launch with attributes must wait until spin kernels and exchanges have
  /// ended, because several of its blocks need places at once.
  bool must_wait_for_places(slot_address task);
  void do_step(slot_address task, batcher::step const& step);
  /// Launches the open batches that contain predecessors of the task that was resolved last.
  void flush_predecessors();
  /// Returns whether the launch can follow tasks of other devices in a joint pass.
  [[nodiscard]] bool may_join_others(slot const& task) const;
  void wait_for_room(slot_address task) {
    waiting_.at(parts_.shared.tasks.at(task).level).push_back(task);
  }

  parts const parts_;
  priority_queues waiting_;
  unended_predecessors found_;             // scratch memory of start_one
  std::vector<slot_address> behind_open_;  // copies whose predecessors are in open batches
  bool kept_ = false;
  std::size_t expected_ = 0;
};

}  // namespace flotilla::dispatch
