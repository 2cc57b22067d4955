#pragma once
// One worker: its loop, and the state that it shares with others.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/append_only.hpp"
#include "dispatch/device/device_set.hpp"
#include "dispatch/waiting/continuation_runner.hpp"
#include "dispatch/waiting/policy_table.hpp"

namespace flotilla::dispatch {

/// The objects that a worker works with.
struct worker_environment {
  runtime_parts const& shared;
  device_set const& devices;
  policy_table const& policies;
  continuation_runner const& continuations;
};

/// Counters of one oneTBB thread. That thread writes, any thread reads.
struct worker_stats {
  std::uint64_t thread = 0;  // its token
  std::atomic<std::uint64_t> drains{0};
  std::atomic<std::uint64_t> devices{0};  // a set
};

/// The state that the workers of a pool share.
struct worker_state {
  std::atomic<int> active{0};                 // running, or asked for
  std::atomic<bool> polling_for_ends{false};  // one worker looks for ended tasks with continuations
  std::mutex mutex;
  std::condition_variable ended;
  bool closed = false;  // these two under the mutex
  int running = 0;
  base::append_only<worker_stats> stats;

  [[nodiscard]] bool is_closed() {
    std::lock_guard const lock{mutex};
    return closed;
  }
};

/// One run of a worker, on the stack of its thread.
class worker {
 public:
  /// @param wake  Asks for another worker.
  worker(worker_environment const& environment, worker_state& state, worker_stats& stats,
         std::function<void()> wake, int max, std::chrono::microseconds idle_poll_time);
  ~worker();
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  /// Works until there is nothing to do.
  void run();

 private:
  /// Drains every device that has work. @return whether anything moved.
  bool drain_devices();
  /// Delays if the thread that submitted will probably launch its task itself. @return whether
  /// there is still work.
  bool leave_to_waiter(device_inbound& inbound);
  bool tend_continuations();
  /// Waits once. There is work that only the devices move on: a full lane, a copy in flight.
  void wait_for_devices();
  /// Polls once without work. @return false: the time for polling is over.
  bool poll_idle();
  /// Leaves the pool, then looks for work that was announced meanwhile. @return whether to go on.
  bool stay_after_all();
  void set_polling(bool polling) noexcept;
  /// One worker polls for ended tasks with continuations. It gives that up before it may run user
  /// code, which can take any time, and asks for another worker.
  void stop_polling_for_ends();

  worker_environment const& environment_;
  worker_state& state_;
  worker_stats& stats_;
  std::function<void()> const wake_;
  int const max_;
  std::chrono::microseconds const idle_poll_time_;

  unsigned next_device_;     // workers begin at different devices
  bool saw_work_ = false;    // in the current round
  bool is_polling_ = false;  // counted in doorbell::polling_workers
  bool polls_for_ends_ = false;
  unsigned idle_rounds_ = 0;
  wait_policy idle_policy_ = wait_policy::yield;
  std::chrono::steady_clock::time_point last_work_;
  std::chrono::steady_clock::time_point next_health_poll_;
};

}  // namespace flotilla::dispatch
