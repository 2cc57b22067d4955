// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A latch for a host thread that waits until device threads have reached a point. The latch may be
// a local variable of the waiting thread, because wait() returns only after the last count_down()
// has unlocked the mutex.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/pause.hpp"

namespace flotilla::cpu_driver {

/// How long a waiting thread spins, and then yields, before it sleeps.
struct spin_times {
  std::chrono::microseconds spin{20};
  std::chrono::microseconds yield{0};
};

class latch {
 public:
  explicit latch(int count = 0) noexcept : count_(count) {}
  latch(latch const&) = delete;
  latch& operator=(latch const&) = delete;

  void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

  void count_down() noexcept {
    std::lock_guard const lock(mutex_);
    // release: pairs with the acquire in reached()
    if (count_.fetch_sub(1, std::memory_order_release) == 1) { passed_.notify_all(); }
  }

  void wait(spin_times times = {}) noexcept {
    auto const start = std::chrono::steady_clock::now();
    auto const spin_end = start + times.spin;
    auto const yield_end = spin_end + times.yield;
    for (auto now = start; !reached() && now < yield_end; now = std::chrono::steady_clock::now()) {
      if (now < spin_end) {
        for (int i = 0; i < 32 && !reached(); ++i) { base::pause(); }
      } else {
        std::this_thread::yield();
      }
    }
    // Locks even if the count is already zero: the last count_down() may still hold the mutex.
    std::unique_lock lock(mutex_);
    passed_.wait(lock, [this] { return reached(); });
  }

 private:
  bool reached() const noexcept { return count_.load(std::memory_order_acquire) <= 0; }

  std::atomic<int> count_;
  std::mutex mutex_;
  std::condition_variable passed_;
};

}  // namespace flotilla::cpu_driver
