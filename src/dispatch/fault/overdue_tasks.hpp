// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ends tasks whose deadline has passed, and tasks that were cancelled.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "dispatch/fault/fault_monitor.hpp"
#include "dispatch/fault/slow_waits.hpp"
#include "dispatch/fault/stuck_devices.hpp"
#include "dispatch/fault/task_text.hpp"
#include "dispatch/ordering/task_end.hpp"

namespace flotilla::dispatch {

/// A task that will not run ends at once, even if no thread looks at the queue with its slot, for
/// example because a callable keeps the lease of the device, or because the task is parked. The
/// slot stays taken until it leaves the queue (see cancellation.hpp).
///
/// Exceptions are the tasks of flows and the replays, which must not end before their predecessors:
/// they end when the device looks at them (late_ends).
///
/// Deadlines need a clock, so the first task with a deadline starts a thread. The thread also looks
/// for stuck devices, for lost ones, so that tasks end even if nobody waits for them, and for waits
/// that sleep in the driver for long. In single-threaded mode, and if no thread can be started,
/// threads that wait, pump or drive a device look at the clock. Threads: any.
class overdue_tasks {
 public:
  struct parts {
    task_table const& tasks;
    task_end& ends;
    deadline_queue& deadlines;
    task_text const& text;
    fault_monitor& faults;
    stuck_devices& stuck;
    lost_devices& lost;
    slow_waits& long_waits;
    bool single_threaded;
  };
  explicit overdue_tasks(parts const& with) noexcept : parts_(with) {}
  ~overdue_tasks() { stop(); }
  overdue_tasks(overdue_tasks const&) = delete;
  overdue_tasks& operator=(overdue_tasks const&) = delete;

  /// Ends the task when its deadline passes, unless its launch has begun by then. Call it after the
  /// task was opened, and before any other thread can end the task. slot_side must have an entry
  /// for the deadline.
  void watch(slot_address task, std::uint64_t generation,
             std::chrono::steady_clock::time_point when) noexcept;
  /// Starts the thread, unless a thread has done so. Call it if the thread must look for stuck or
  /// lost devices, or at waits that sleep.
  void start_thread() noexcept {
    // relaxed: the mutex decides which thread starts the thread
    if (!has_started_.load(std::memory_order_relaxed)) [[unlikely]] { start_thread_now(); }
  }
  /// Ends the tasks whose deadline has passed. @return whether there were any. Cost: one load if no
  /// task has a deadline.
  bool end_due() noexcept { return parts_.deadlines.any_due() && end_all_due(); }
  /// Ends a task that `request_cancel` has cancelled, unless another thread ends it.
  void end_cancelled(slot_address task, std::uint64_t generation) noexcept;
  /// The function of a stop_request. @param self  An overdue_tasks.
  static void cancel_on_stop(void* self, slot_address task, std::uint64_t generation) noexcept;

  /// Returns whether a task with a deadline is open. Cost: one load.
  [[nodiscard]] bool any_watched() const noexcept { return parts_.deadlines.any(); }
  [[nodiscard]] bool any_due() const noexcept { return parts_.deadlines.any_due(); }
  /// Ends the thread. Call it when no task is open.
  void stop() noexcept;

 private:
  void start_thread_now() noexcept;
  bool end_all_due() noexcept;
  void run() noexcept;

  parts const parts_;
  std::atomic<bool> has_started_{false};  // whether a thread has tried to start the thread
  std::mutex mutex_;
  std::thread thread_;  // guarded by mutex_
};

}  // namespace flotilla::dispatch
