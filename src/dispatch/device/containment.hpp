// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces an isolated device that was lost, and starts its tasks again.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/batching/kernel_sampler.hpp"
#include "dispatch/device/callable_runner.hpp"
#include "dispatch/device/event_waits.hpp"
#include "dispatch/device/staged_copies.hpp"
#include "dispatch/device/task_starter.hpp"
#include "dispatch/fault/suspects.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/grid/grid_launcher.hpp"

namespace flotilla::dispatch {

/// The steps, after the old worker process is gone, so that nothing writes numbers any more:
/// 1. Batches whose numbers are reached have ended.
/// 2. In each lane, the first batch that has not ended may have run, unless it waits for another
///    lane. Its tasks are the suspects. They fail, or start again if they are repeatable and were
///    no suspects before. All other tasks in streams have not begun, so they start again.
/// 3. The marks of all these tasks are taken back, and only then the numbers of the lanes are
///    raised. So no thread takes a suspect for a task that has ended well, or a task that starts
///    again for one that has ended (tests/unit/dispatch/device/containment_model_test.cpp).
///
/// Tasks that were never in a stream are not affected.
///
/// Threads: only the holder of the device's lease.
class containment {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    completion_page const& page;
    lane_set& lanes;
    stream_health& streams;
    batch_launcher& launcher;
    grid_launcher& grids;
    kernel_sampler& sampler;
    staged_copies& staged;
    callable_runner& callables;
    event_waits& events;
    failure_reporter& reporter;
    late_ends& late;
    task_starter& starter;
  };
  explicit containment(parts const& with) : parts_(with) {}

  /// Returns whether the device is lost and not quarantined. Cost: two loads if it is isolated.
  [[nodiscard]] bool is_due() const noexcept {
    return parts_.shared.lost.is_lost(parts_.lanes.device());
  }
  /// Returns whether the device runs no more tasks.
  [[nodiscard]] bool is_quarantined() const noexcept {
    return parts_.shared.lost.is_quarantined(parts_.lanes.device());
  }
  /// Replaces the lost device, or quarantines it. Blocks until the old worker process is gone and
  /// its successor is ready. The context need not be current.
  /// @param end_completed  Ends the tasks of the batches whose numbers are reached.
  /// @return false if it is too early to replace the device.
  /// @throws std::bad_alloc  Tasks may be lost, so the runtime must be poisoned.
  template <class EndCompleted>
  bool run(EndCompleted const& end_completed);

 private:
  struct in_flight {
    slot_address task;
    std::chrono::steady_clock::time_point begun;
    bool may_have_run;
  };

  /// Fills `found_` with the tasks of all batches in flight, in the order of their launches.
  void find_tasks();
  /// Returns how many of the first batches of the lane may have begun: none, or those of the first
  /// launch.
  [[nodiscard]] std::size_t count_begun(lane const& one) const;
  /// Returns whether a task of the batch has a predecessor in another lane that has not ended. Then
  /// the batch has not begun.
  [[nodiscard]] bool waits_for_other_lane(lane const& one, lane::batch const& batch) const;
  /// Raises the number of each lane to that of its last batch, and drops all batches.
  void drop_batches();
  /// Fills `followed_` with the predecessors of those tasks of flows in `found_` that may have run.
  void find_followed();
  /// Returns false for copies from the host and fills.
  [[nodiscard]] static bool reads_device_memory(slot& task);
  /// Returns whether a task that was in a stream may start again.
  [[nodiscard]] bool may_start_again(in_flight const& one) const;
  /// Decides for each task in `found_` whether it starts again or ends, and takes back its mark.
  void settle_tasks(bool device_is_usable);
  /// Makes the failures, which name the suspects in `found_`.
  void make_failures(lost_devices::decision what, CUresult status, std::string const& reason);
  /// All steps after the tasks of completed batches were ended.
  void finish(lost_devices::decision what, CUresult status, std::string const& reason);
  /// Moves the tasks that were given up before they were in a stream to `again_`.
  void take_unlaunched();

  parts const parts_;
  // Scratch memory:
  std::vector<in_flight> found_;
  std::vector<slot_address> followed_;  // sorted
  std::vector<slot_address> again_;
  // The failures of tasks that may have run, and of those that have not begun.
  std::shared_ptr<failure const> of_suspects_;
  std::shared_ptr<failure const> of_others_;
};

template <class EndCompleted>
bool containment::run(EndCompleted const& end_completed) {
  lost_devices& lost = parts_.shared.lost;
  unsigned const device = parts_.lanes.device();
  lost_devices::decision what = lost.decide(device);
  if (what == lost_devices::decision::wait) { return false; }
  CUresult const status = lost.status_of(device);
  std::string const reason = lost.reason_of(device);
  stream_health::pause const no_queries{parts_.streams};  // also if a step gets no memory
  if (what == lost_devices::decision::give_up) {
    // Otherwise a kernel could write to memory whose tasks have ended.
    parts_.context.api().recovery->end(
        {parts_.context.where().driver_ordinal, parts_.context.handle()});
  } else if (!lost.replace(device)) {
    what = lost_devices::decision::give_up;
  }
  end_completed();
  finish(what, status, what == lost_devices::decision::replace ? reason : lost.reason_of(device));
  return true;
}

}  // namespace flotilla::dispatch
