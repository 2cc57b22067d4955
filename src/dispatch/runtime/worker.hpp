// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A worker: its loop, and the state that the workers of a pool share.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/append_only.hpp"
#include "dispatch/device/device_set.hpp"
#include "dispatch/runtime/worker_homes.hpp"
#include "dispatch/waiting/continuation_runner.hpp"
#include "dispatch/waiting/policy_table.hpp"

namespace flotilla::dispatch {

/// The objects that a worker uses.
struct worker_environment {
  runtime_parts const& shared;
  device_set const& devices;
  policy_table const& policies;
  continuation_runner const& continuations;
  worker_homes& homes;
};

/// Counters of one oneTBB thread. Only that thread writes them. Any thread reads them.
struct worker_stats {
  std::uint64_t thread = 0;  // the token of the thread
  std::atomic<std::uint64_t> drains{0};
  std::atomic<std::uint64_t> devices{0};  // bit i: drained a device with index i modulo 64
};

/// The state that the workers of a pool share.
struct worker_state {
  std::atomic<int> active{0};                 // workers that run or were requested
  std::atomic<int> requested{0};              // those of them that oneTBB has not begun
  std::atomic<int> helpers{0};                // copy helpers that run or were requested
  std::atomic<bool> polling_for_ends{false};  // whether a worker polls for ended tasks
  std::mutex mutex;
  std::condition_variable ended;
  bool closed = false;  // guarded by mutex
  int running = 0;      // guarded by mutex
  base::append_only<worker_stats> stats;

  [[nodiscard]] bool is_closed() {
    std::lock_guard const lock{mutex};
    return closed;
  }
};

/// One run of a worker. The object lives on the stack of the worker's thread.
class worker {
 public:
  /// @param wake  Asks for another worker.
  worker(worker_environment const& environment, worker_state& state, worker_stats& stats,
         std::function<void()> wake, int max, std::chrono::microseconds idle_poll_time);
  ~worker();
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  /// Drains devices and runs continuations until no work is left and the time for polling is over.
  void run();

 private:
  /// Drains every device that has work. @return whether any drain made progress.
  bool drain_devices();
  /// Pauses briefly, because the submitting thread will probably launch its task itself. @return
  /// whether work is still pending afterwards.
  bool leave_to_waiter(device_inbound& inbound);
  /// Runs due continuations. Polls for ended tasks if no other worker does so. @return whether any
  /// continuation ran or any task ended.
  bool tend_continuations();
  /// Waits once for devices that have work but make no progress, for example because a lane is full
  /// or a copy is in flight.
  void wait_for_devices();
  /// Pauses once between two polls. @return false if the time for polling is over.
  bool poll_idle();
  /// Makes this worker inactive, then checks again for announced work. @return whether this worker
  /// has become active again and must continue.
  bool stay_after_all();
  void set_polling(bool polling) noexcept;
  /// Stops polling for ended tasks and asks for another worker to do so. Does nothing if this
  /// worker does not poll for ended tasks. A worker must call this before it may run user code,
  /// which can take any time.
  void stop_polling_for_ends();

  worker_environment const& environment_;
  worker_state& state_;
  worker_stats& stats_;
  std::function<void()> const wake_;
  int const max_;
  std::chrono::microseconds const idle_poll_time_;
  worker_home home_;

  unsigned next_device_;     // the device to drain first; differs between workers
  bool saw_work_ = false;    // whether a device had work in this round
  bool is_polling_ = false;  // whether doorbell::polling_workers counts this worker
  bool polls_for_ends_ = false;
  unsigned idle_rounds_ = 0;
  wait_policy idle_policy_ = wait_policy::yield;
  std::chrono::steady_clock::time_point last_work_;
  std::chrono::steady_clock::time_point next_health_poll_;
};

}  // namespace flotilla::dispatch
