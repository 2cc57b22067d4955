#pragma once
// The oneTBB threads that drive devices.

#include <chrono>
#include <memory>
#include <vector>

#include <flotilla/device/counters.hpp>

#include "base/tbb_bridge.hpp"
#include "dispatch/runtime/worker.hpp"

namespace flotilla::dispatch {

/// A worker is a job in a oneTBB arena of flotilla's: it drains whatever device has work and a free
/// lease, polls for a while if there is none, and ends. It returns its thread to oneTBB instead of
/// sleeping in it, because all arenas of a process share cores - 1 threads. `wake` asks for another
/// worker if fewer than `max` are active. Nothing depends on whether oneTBB runs it, or when: every
/// thread that waits drains as well.
///
/// The handshake between `wake` and a worker that ends: `wake` is called after work was announced,
/// and then looks at `active`; the worker subtracts itself from `active` and then looks for
/// announced work. All four steps are seq_cst, so one of the two sees the other
/// (tests/unit/dispatch/queue/handshake_model_test.cpp).
class worker_pool {
 public:
  /// Connects the doorbell.
  worker_pool(worker_environment const& environment, doorbell& bell, int max,
              std::chrono::microseconds idle_poll_time);
  ~worker_pool();
  worker_pool(worker_pool const&) = delete;
  worker_pool& operator=(worker_pool const&) = delete;

  /// Workers at once, a count.
  [[nodiscard]] int max() const noexcept { return max_; }
  /// Asks for a worker if one more may be active. Threads: any. Cost: a load if all are.
  void wake() noexcept;
  /// Asks for a worker if none polls for ended tasks that have continuations. Call it after the
  /// continuation was registered.
  void wake_to_poll() noexcept;
  /// Allows no more workers. Waits for those that run, not for jobs that oneTBB has not begun.
  void stop() noexcept;
  [[nodiscard]] std::vector<worker_counters> counters() const;

 private:
  class pending_jobs;
  static void run(void* job);
  worker_stats& stats_of_this_thread();

  worker_environment const environment_;
  int const max_;
  std::chrono::microseconds const idle_poll_time_;
  std::shared_ptr<worker_state> state_;  // jobs may begin after the pool has gone
  std::unique_ptr<base::worker_arena> arena_;
};

}  // namespace flotilla::dispatch
