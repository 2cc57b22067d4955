#pragma once
// What a host thread waits on until device threads have passed a point. Lives on the waiter's
// stack: the last count_down leaves the mutex before wait() can return, so that nothing touches a
// latch that is gone.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cpu_driver/pause.hpp"

namespace flotilla::cpu_driver {

/// How long a waiter spins and yields before it sleeps: what a context's scheduling flag asks for.
struct wait_policy {
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

  void wait(wait_policy policy = {}) noexcept {
    auto const start = std::chrono::steady_clock::now();
    auto const spin_end = start + policy.spin;
    auto const yield_end = spin_end + policy.yield;
    for (auto now = start; !reached() && now < yield_end; now = std::chrono::steady_clock::now()) {
      if (now < spin_end) {
        for (int i = 0; i < 32 && !reached(); ++i) { pause(); }
      } else {
        std::this_thread::yield();
      }
    }
    std::unique_lock lock(mutex_);  // also when reached: the last count_down may still hold it
    passed_.wait(lock, [this] { return reached(); });
  }

 private:
  bool reached() const noexcept { return count_.load(std::memory_order_acquire) <= 0; }

  std::atomic<int> count_;
  std::mutex mutex_;
  std::condition_variable passed_;
};

}  // namespace flotilla::cpu_driver
