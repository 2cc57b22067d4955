// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The threads that run the continuations of a runtime.

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/queue/doorbell.hpp"

namespace flotilla::dispatch {

/// Continuations may block, so workers must not run them: a worker may be the only one. These
/// threads run continuations, or give them to the executor, whose function may block too.
///
/// A thread starts when a continuation is due and no thread is idle, up to a maximum. A thread ends
/// after one second without work. Every state change is under one mutex, so no wake-up is lost: a
/// thread that made a continuation due calls `notify` afterwards, and a thread goes to sleep only
/// if none is due.
class continuation_threads {
 public:
  static constexpr int max_threads = 8;  // documented in <flotilla/task/executor.hpp>

  /// Connects the doorbell to these threads. Starts no thread.
  continuation_threads(continuation_table& table, doorbell& bell);
  ~continuation_threads();
  continuation_threads(continuation_threads const&) = delete;
  continuation_threads& operator=(continuation_threads const&) = delete;

  /// Wakes or starts a thread if a continuation is due. Threads: any. Never waits for user code.
  void notify() noexcept;
  /// Returns false if no thread runs and none could be started. Then workers and waiting threads
  /// must run the continuations.
  [[nodiscard]] bool serves() const noexcept { return serves_.load(std::memory_order_seq_cst); }
  /// Ends all threads. No continuation may be due or running.
  void stop() noexcept;

 private:
  struct place {
    std::thread thread;
    std::thread before;  // the thread that had this place before; `thread` joins it
    bool is_live = false;
  };
  void serve(place& here) noexcept;
  // Call this with the mutex locked.
  void provide() noexcept;

  continuation_table& table_;
  std::atomic<bool> serves_{true};
  std::mutex mutex_;
  std::condition_variable due_;
  // The mutex guards these members:
  std::array<place, max_threads> places_;
  int live_ = 0;
  int idle_ = 0;
  bool is_waking_ = false;  // whether an idle thread was notified and has not woken up yet
  bool is_stopping_ = false;
};

}  // namespace flotilla::dispatch
