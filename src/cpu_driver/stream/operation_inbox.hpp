#pragma once
// The way of operations from API threads to a device's thread. Pushing takes no lock unless the
// device sleeps.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

class operation_inbox {
 public:
  // Any thread:
  void push(operation* added) noexcept;
  /// Makes take_wake() true and ends the device thread's sleep.
  void wake() noexcept;

  // The device thread:
  /// Everything pushed, the oldest first, linked by `next`; null if empty.
  [[nodiscard]] operation* take_all() noexcept;
  [[nodiscard]] bool empty() const noexcept {
    // acquire: orders what the pushing threads did before
    return newest_.load(std::memory_order_acquire) == nullptr;
  }
  /// Whether wake() was called since the last call.
  [[nodiscard]] bool take_wake() noexcept;
  /// Whether there is an operation, or wake() was called.
  [[nodiscard]] bool called() const noexcept {
    return newest_.load(std::memory_order_relaxed) != nullptr ||
           woken_.load(std::memory_order_relaxed);
  }
  /// Sleeps until called(), or for `at_most`. Returns at once if there is an operation.
  void sleep(std::optional<std::chrono::microseconds> at_most) noexcept;

 private:
  /// The value of `newest_` while the thread sleeps: a thread that pushes onto it wakes the
  /// sleeper.
  operation* asleep() noexcept { return &asleep_; }

  operation asleep_;
  alignas(64) std::atomic<operation*> newest_{nullptr};  // linked to older ones
  alignas(64) std::atomic<bool> woken_{false};  // set by any thread, cleared by the device thread
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace flotilla::cpu_driver
