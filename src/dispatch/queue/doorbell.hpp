// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lets classes that do not know the worker pool ask the pool for a worker.

#include <atomic>

namespace flotilla::dispatch {

/// Forwards requests for a worker to the worker pool. The pool calls `connect` once, before any
/// task can be submitted. In single-threaded mode, no pool is connected, and requests are ignored.
/// Threads: any.
class doorbell {
 public:
  using ring_function = void (*)(void* pool) noexcept;

  /// Connects the worker pool.
  /// @param for_work           Asks for another worker if fewer than the maximum are active.
  /// @param for_continuations  Does the same as `for_work`, unless a worker already polls for ended
  /// tasks.
  void connect(void* pool, ring_function for_work, ring_function for_continuations) noexcept {
    pool_ = pool;
    for_work_ = for_work;
    for_continuations_ = for_continuations;
  }

  /// Asks for a worker. Call this after the work was announced.
  void ring() const noexcept {
    if (for_work_ != nullptr) { for_work_(pool_); }
  }
  /// Asks for a worker that polls for ended tasks. Call this after a continuation was registered or
  /// became due.
  void ring_for_continuations() const noexcept {
    if (for_continuations_ != nullptr) { for_continuations_(pool_); }
  }

  /// The number of workers that poll for work. The value may be out of date.
  std::atomic<int> mutable polling_workers{0};

 private:
  void* pool_ = nullptr;
  ring_function for_work_ = nullptr;
  ring_function for_continuations_ = nullptr;
};

}  // namespace flotilla::dispatch
