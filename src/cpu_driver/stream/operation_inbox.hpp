// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queue of operations from API threads to a device thread. A push is lock-free unless the
// device thread sleeps.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

class operation_inbox {
 public:
  // For any thread:
  void push(operation* added) noexcept;
  /// Wakes the device thread. The next take_wake() returns true.
  void wake() noexcept;

  // For the device thread:
  /// Removes all operations and returns them as a list, linked by `next`, oldest first. Returns
  /// null if there are none.
  [[nodiscard]] operation* take_all() noexcept;
  [[nodiscard]] bool empty() const noexcept {
    // acquire: pairs with the release in push()
    return newest_.load(std::memory_order_acquire) == nullptr;
  }
  /// Whether wake() was called since the last take_wake(). What a thread wrote before it called
  /// wake() must be read after take_wake(), not before: nothing calls again for it.
  [[nodiscard]] bool take_wake() noexcept;
  /// Whether there is an operation, or whether wake() was called since the last take_wake().
  [[nodiscard]] bool called() const noexcept {
    return newest_.load(std::memory_order_relaxed) != nullptr ||
           woken_.load(std::memory_order_relaxed);
  }
  /// Sleeps until called() is true, but at most for the time `at_most`. An empty `at_most` means no
  /// time limit.
  void sleep(std::optional<std::chrono::microseconds> at_most) noexcept;

 private:
  /// The value of `newest_` while the device thread sleeps. A push that replaces this value wakes
  /// the device thread.
  operation* asleep() noexcept { return &asleep_; }

  operation asleep_;
  alignas(64) std::atomic<operation*> newest_{nullptr};  // linked by `next` to older operations
  alignas(64) std::atomic<bool> woken_{false};  // set by any thread, cleared by the device thread
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace flotilla::cpu_driver
