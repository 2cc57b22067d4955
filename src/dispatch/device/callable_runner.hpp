// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs callables with the context of the device current.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/helper.hpp"
#include "dispatch/device/predecessors.hpp"
#include "dispatch/queue/priority_queues.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current.
class callable_runner {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    context::lease_gate const& gate;
    lane_set& lanes;
    predecessors& before;
    device_side_waits& device_waits;
    failure_reporter& reporter;
    batch_committer& committer;
  };
  explicit callable_runner(parts const& with) : parts_(with) {}

  /// Queues a callable whose predecessors were launched or have ended.
  void add(slot_address task) { queued_.at(parts_.shared.tasks.at(task).level).push_back(task); }
  /// Runs a bounded number of queued callables, the most urgent first. Skips the callables that
  /// `filter` does not allow. Call this after all open batches have been launched.
  /// @param more_urgent  Returns whether a task above the given level has arrived. If so, `run`
  /// stops after the current callable.
  /// @return whether any callable ran.
  bool run(helper_filter filter, std::function<bool(priority_level)> const& more_urgent);
  [[nodiscard]] bool empty() const noexcept { return queued_.empty(); }
  /// Moves all queued callables to the end of `tasks`.
  void move_to(std::vector<slot_address>& tasks) { queued_.move_to(tasks); }

  /// Returns whether there are failed callables whose work in the stream has not completed. Their
  /// tasks are still open.
  [[nodiscard]] bool has_failures() const noexcept { return !failures_.empty(); }
  /// Removes and returns the failure of a callable. Returns null if the callable has not failed.
  /// Call this after the callable's work in the stream has completed.
  [[nodiscard]] std::shared_ptr<failure const> take_failure(slot_address task);
  /// Returns when the callable that runs now has begun, as a count of nanoseconds of
  /// steady_clock. Returns 0 if no callable runs. Threads: any.
  [[nodiscard]] std::int64_t running_since() const noexcept {
    // seq_cst: the stand-ins stop watching and then call this function; `call` stores the time and
    // then looks whether they watch
    return running_since_.load(std::memory_order_seq_cst);
  }
  /// Returns how many callables have run so far. Threads: any.
  [[nodiscard]] std::uint64_t ran() const noexcept { return ran_.load(std::memory_order_relaxed); }

 private:
  /// Runs a callable, or queues it again if no lane has room, or while a replay over several
  /// devices is launched. @return false if it was queued again.
  bool run_one(slot_address task);
  /// Runs a callable in this lane, unless it was cancelled.
  void run_in(lane& in, slot_address task);
  /// Returns the lane for the task whose predecessors are in `found_`; null if no lane has room.
  [[nodiscard]] lane* find_lane(priority_level level);
  /// Calls and destroys the callable. @return the exception that the callable threw, or null.
  /// @param violation  Receives an error text if the callable returned with a changed context
  /// stack, or with its stream in capture mode.
  std::exception_ptr call(slot_address task, lane const& lane, std::string& violation);
  /// Returns whether a predecessor in `found_` still runs.
  [[nodiscard]] bool is_predecessor_running() const noexcept;
  /// Reports a callable that was called while a predecessor still ran, and has not asked for its
  /// stream.
  void report_early(slot_address task) noexcept;

  parts const parts_;
  priority_queues queued_;
  unended_predecessors found_;  // scratch memory
  // Failures of callables whose work in the stream has not completed.
  std::unordered_map<slot_address, std::shared_ptr<failure const>> failures_;
  unsigned early_reports_ = 0;
  std::atomic<std::uint64_t> ran_{0};           // written by the holder of the lease
  std::atomic<std::int64_t> running_since_{0};  // written by the holder of the lease
};

}  // namespace flotilla::dispatch
