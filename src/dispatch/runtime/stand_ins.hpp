// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that drive devices while callables block.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "dispatch/runtime/worker.hpp"

namespace flotilla::dispatch {

/// A callable occupies the thread that runs it. If this thread is the only worker that oneTBB
/// provides, the other devices stand still. A stand-in is a thread of flotilla that runs the loop
/// of a worker instead.
///
/// One thread, the *watcher*, looks every millisecond whether a callable has run for longer than
/// that while work for other devices waits. If so, it wakes or starts a stand-in. There are at most
/// as many running stand-ins as such callables, so a stand-in whose own callable blocks gets a
/// stand-in too. The watcher runs no user code. It sleeps while no callable runs.
///
/// The sleep of the watcher and the begin of a callable use this handshake: the thread that begins
/// a callable stores the time and then reads `watching_`. The watcher clears `watching_` and then
/// reads the times. All four steps are seq_cst, so at least one of the two threads sees what the
/// other has written (tests/unit/dispatch/runtime/stand_in_model_test.cpp).
class stand_ins {
 public:
  /// Starts no thread.
  /// @param wake  Asks for another worker.
  stand_ins(worker_environment const& environment, worker_state& state, std::function<void()> wake,
            std::chrono::microseconds idle_poll_time);
  ~stand_ins();
  stand_ins(stand_ins const&) = delete;
  stand_ins& operator=(stand_ins const&) = delete;

  /// Makes the watcher watch. Call this after the time at which a callable begins was stored.
  /// Threads: any. Cost: one load while the watcher watches. If the watcher cannot be started,
  /// callables can stall other devices until a later call starts it.
  void note_callable() noexcept;
  /// Provides a stand-in at once if a callable blocks. Call this if work was announced while as
  /// many workers as allowed are active. Threads: any. Cost: one load if no callable blocks.
  void ring() noexcept;
  /// Ends all threads. No task may be open.
  void stop() noexcept;

 private:
  using clock = std::chrono::steady_clock;

  void watch() noexcept;
  void serve() noexcept;
  void run_worker() noexcept;
  /// Returns how many devices run a callable, and sets `blocked_` to how many of these callables
  /// have run for too long.
  [[nodiscard]] int count_callables() noexcept;
  /// Returns whether work waits that a stand-in could do.
  [[nodiscard]] bool is_needed() const noexcept;
  /// Wakes or starts a stand-in, unless enough of them run. Call this with the mutex locked.
  void provide();

  worker_environment const environment_;
  worker_state& state_;
  std::function<void()> const wake_;
  std::chrono::microseconds const idle_poll_time_;

  std::atomic<bool> watching_{false};  // whether the watcher will look at the callables soon
  std::atomic<int> blocked_{0};        // written by the watcher
  std::mutex mutex_;
  std::condition_variable watch_;
  std::condition_variable serve_;
  // The mutex guards these members:
  std::thread watcher_;
  std::list<std::thread> threads_;  // the stand-ins; they end in `stop`
  int idle_ = 0;                    // stand-ins that sleep
  int called_ = 0;                  // stand-ins that were woken and have not begun to run
  bool is_stopping_ = false;
};

}  // namespace flotilla::dispatch
