// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs workers on the threads of oneTBB.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <flotilla/device/counters.hpp>

#include "base/tbb_bridge.hpp"
#include "dispatch/runtime/stand_ins.hpp"
#include "dispatch/runtime/worker.hpp"

namespace flotilla::dispatch {

/// A worker is a job in a oneTBB arena. It drains every device that has work and a free lease. If
/// there is no work, the worker polls for a while and then ends. It does not sleep: all arenas of a
/// process share one thread less than there are cores, and a sleeping worker would occupy one of
/// these threads. `wake` asks for another worker if fewer than `max` are active. It does not matter
/// whether or when oneTBB runs this worker, because waiting threads drain devices too, and after
/// some milliseconds a stand-in does (stand_ins).
///
/// A *copy helper* is a job in another arena. It takes part in copies of host memory, drives no
/// device, and ends soon after the last copy. Nothing depends on it.
///
/// `wake` and a worker that ends use this handshake: `wake` is called after work was announced, and
/// reads `active`. The worker decrements `active` and then looks for announced work. All four steps
/// are seq_cst, so at least one of the two threads sees what the other has written
/// (tests/unit/dispatch/queue/handshake_model_test.cpp).
class worker_pool {
 public:
  /// Connects the doorbell to this pool, unless `max` is 0.
  worker_pool(worker_environment const& environment, doorbell& bell, int max,
              std::chrono::microseconds idle_poll_time);
  ~worker_pool();
  worker_pool(worker_pool const&) = delete;
  worker_pool& operator=(worker_pool const&) = delete;

  /// Returns the maximum number of active workers.
  [[nodiscard]] int max() const noexcept { return max_; }
  /// Asks for another worker if fewer than `max` are active. Threads: any. Cost: one load if `max`
  /// are active.
  void wake() noexcept;
  /// Asks for a worker if no worker polls for ended tasks. Call this after a continuation was
  /// registered or became due.
  void wake_to_poll() noexcept;
  /// Announces that a callable is about to run, which may occupy a worker for any time.
  void note_callable() noexcept { stand_ins_.note_callable(); }
  /// Asks for one more copy helper, unless as many as allowed run. Threads: any. Cost: one load in
  /// this case.
  void wake_helper() noexcept;
  /// Returns how many copy helpers run or were requested. The answer may be out of date.
  [[nodiscard]] int copy_helpers() const noexcept {
    return state_->helpers.load(std::memory_order_relaxed);
  }
  /// Prevents new workers and copy helpers, and waits until the running ones and the stand-ins have
  /// ended. Does not wait for jobs that oneTBB has not begun.
  /// @param until  Leaves threads alone that have not ended by then, because they are inside
  /// callables or continuations. Then the runtime must stay in memory. Null: waits for all of them.
  void stop(std::optional<std::chrono::steady_clock::time_point> until) noexcept;
  [[nodiscard]] std::vector<worker_counters> counters() const;

 private:
  class pending_jobs;
  enum class roles : std::uint8_t { worker, copy_helper };
  static void run(void* job);
  void run_worker();
  void run_copy_helper();
  /// Posts a job. @return false if there is no memory for it.
  [[nodiscard]] bool post(roles role) noexcept;
  worker_stats& stats_of_this_thread();

  worker_environment const environment_;
  int const max_;
  int const max_helpers_;
  std::chrono::microseconds const idle_poll_time_;
  std::shared_ptr<worker_state> state_;  // shared, because jobs may outlive the pool
  std::unique_ptr<base::worker_arena> arena_;
  std::unique_ptr<base::worker_arena> helper_arena_;
  stand_ins stand_ins_;  // last member, because its threads use the others
};

}  // namespace flotilla::dispatch
