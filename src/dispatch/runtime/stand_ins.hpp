// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that drive devices while callables block, or while oneTBB provides no worker.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "dispatch/runtime/worker.hpp"

namespace flotilla::dispatch {

/// A callable occupies the thread that runs it. If this thread is the only worker that oneTBB
/// provides, the other devices stand still. And oneTBB may provide no worker at all: the work of
/// the application can occupy all of its threads for any time. A stand-in is a thread of flotilla
/// that runs the loop of a worker instead.
///
/// One thread, the *watcher*, looks every millisecond whether work waits
/// - while a callable has run for longer than that, or
/// - although no worker runs, because oneTBB has not begun the requested ones for some time.
/// If so, it wakes or starts a stand-in. There are at most as many running stand-ins as such
/// callables, and one more if oneTBB provides no worker. So a stand-in whose own callable blocks
/// gets a stand-in too. The watcher runs no user code. It sleeps while there is nothing to watch.
///
/// The sleep of the watcher uses this handshake: a thread that begins a callable stores the time,
/// and a thread that needs a worker announces work. Then it reads `watching_`. The watcher clears
/// `watching_`, and then reads the times and the announcements. All four steps are seq_cst, so at
/// least one of the two threads sees what the other has written
/// (tests/unit/dispatch/runtime/stand_in_model_test.cpp).
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
  /// Call this after work was announced and a worker was requested, or was not because as many as
  /// allowed are active. Makes the watcher watch if oneTBB has not begun a requested worker. If the
  /// watcher has already found that oneTBB begins none, or that a callable blocks, provides a
  /// stand-in at once. Threads: any. Cost: three loads if all requested workers have begun.
  void ring() noexcept;
  /// Makes the watcher watch. Call this if a worker could not be requested. Threads: any.
  void watch_for_workers() noexcept;
  /// Call this when oneTBB has begun a worker.
  void note_begun() noexcept;
  using clock = std::chrono::steady_clock;
  /// Ends all threads. No task may be open.
  /// @param until  Leaves stand-ins alone that have not ended by then, because they are inside
  /// callables. Then this object must stay in memory. Null: waits for all of them.
  void stop(std::optional<clock::time_point> until) noexcept;

 private:
  void watch() noexcept;
  void serve() noexcept;
  void run_worker() noexcept;
  /// Counts callables that block, and notes whether oneTBB provides no worker. @return whether the
  /// watcher must look again soon.
  [[nodiscard]] bool look() noexcept;
  /// Returns whether work waits that a stand-in could do.
  [[nodiscard]] bool is_needed() const noexcept;
  /// Returns whether each worker that runs may be one that a callable blocks.
  [[nodiscard]] bool is_without_worker() const noexcept;
  /// Returns how many stand-ins may run now.
  [[nodiscard]] int max_running() const noexcept;
  /// Wakes or starts a stand-in, unless enough of them run. Call this with the mutex locked.
  void provide();

  worker_environment const environment_;
  worker_state& state_;
  std::function<void()> const wake_;
  std::chrono::microseconds const idle_poll_time_;

  std::atomic<bool> watching_{false};  // whether the watcher will look soon
  std::atomic<int> blocked_{0};        // callables that block; written by the watcher
  // Whether oneTBB did not begin a worker in time. The watcher sets it. It stays set until oneTBB
  // begins a worker, so that later work does not wait for the watcher.
  std::atomic<bool> is_starving_{false};
  std::mutex mutex_;
  std::condition_variable watch_;
  std::condition_variable serve_;
  std::condition_variable served_;
  // The mutex guards these members:
  std::thread watcher_;
  std::list<std::thread> threads_;  // the stand-ins; they end in `stop`
  int live_ = 0;                    // stand-ins that have not ended
  int idle_ = 0;                    // stand-ins that sleep
  int called_ = 0;                  // stand-ins that were woken and have not begun to run
  bool is_stopping_ = false;
  clock::time_point without_worker_since_{};  // used by the watcher; zero: a worker runs
};

}  // namespace flotilla::dispatch
