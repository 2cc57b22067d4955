#pragma once
// Starts tasks: puts each into a stream, parks it, or queues it until there is room.

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/batching/batcher.hpp"
#include "dispatch/device/callable_runner.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/memory_ops.hpp"
#include "dispatch/device/predecessors.hpp"
#include "dispatch/device/replayer.hpp"
#include "dispatch/queue/priority_queues.hpp"

namespace flotilla::dispatch {

/// The batcher's steps return what must be done next. This class does it, in its own loops, so no
/// step calls back into an earlier one. Only the holder of the device's lease, with the context
/// current.
class task_starter {
 public:
  struct parts {
    runtime_parts const& shared;
    lane_set& lanes;
    predecessors& before;
    batcher& batches;
    device_side_waits& device_waits;
    memory_ops& copies;
    replayer& replays;
    callable_runner& callables;
    failure_reporter& reporter;
  };
  explicit task_starter(parts const& with) : parts_(with) {}

  /// Starts the task, and those that can follow it.
  void start(slot_address task) {
    start_one(task);
    start_followers();
  }
  /// The same for several tasks. Prefetches their slots, which lie in the caches of other cores.
  void start_all(std::span<slot_address const> tasks);

  /// Tasks that found no room, by level.
  [[nodiscard]] priority_queues const& waiting() const noexcept { return waiting_; }
  /// Starts waiting tasks of that level again while there is room. @return whether any could go.
  bool retry_waiting(priority_level level);
  /// Whether a task was held back for a device-side wait since `forget_kept`
  /// (device_side_waits::should_keep).
  [[nodiscard]] bool has_kept() const noexcept { return kept_; }
  void forget_kept() noexcept { kept_ = false; }
  /// Appends all waiting tasks to `tasks` and removes them here.
  void move_waiting_to(std::vector<slot_address>& tasks) { waiting_.move_to(tasks); }

  /// Launches the open batches of urgent levels.
  void flush_urgent();
  /// Launches all open batches, the urgent ones first.
  void flush_all();

 private:
  /// @param alone  A batch with the task failed: launch it without others, so that it gets its own
  /// answer.
  void start_one(slot_address task, bool alone = false);
  /// @param joins  The lane whose open batch holds its predecessor, or no_lane.
  /// @return false: look at its predecessors again.
  bool start_launch(slot_address task, unsigned joins, bool alone);
  void start_other(slot_address task);
  void do_step(slot_address task, batcher::step const& step);
  /// Launches the open batch of `lane`.
  void flush(unsigned lane);
  /// Acts on outcome_: reports errors, and queues the tasks that must be started again.
  void finish_flush();
  /// Starts the tasks that others have made runnable. They are not started where they are found,
  /// because a chain of parked tasks would recurse as deep as it is long.
  void start_followers();
  void wait_for_room(slot_address task) {
    waiting_.at(parts_.shared.tasks.at(task).level).push_back(task);
  }

  parts const parts_;
  priority_queues waiting_;
  std::vector<end_mark> waits_;      // scratch of start_one
  flush_outcome outcome_;            // scratch of flush
  std::vector<slot_address> alone_;  // to be launched without others, the next one last
  bool kept_ = false;
};

}  // namespace flotilla::dispatch
