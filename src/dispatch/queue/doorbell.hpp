#pragma once
// How lower rooms ask for a worker without knowing the worker pool.

#include <atomic>

namespace flotilla::dispatch {

/// The worker pool connects itself once, before any task can be submitted. Threads: any. Without a
/// pool (single-threaded mode) ringing does nothing.
class doorbell {
 public:
  using ring_function = void (*)(void* pool) noexcept;

  /// @param for_work           Asks for one more worker, if one more may run.
  /// @param for_continuations  The same, unless a worker polls for ended tasks already.
  void connect(void* pool, ring_function for_work, ring_function for_continuations) noexcept {
    pool_ = pool;
    for_work_ = for_work;
    for_continuations_ = for_continuations;
  }

  /// Call it after the work was announced.
  void ring() const noexcept {
    if (for_work_ != nullptr) { for_work_(pool_); }
  }
  /// Call it after a continuation was registered or became due.
  void ring_for_continuations() const noexcept {
    if (for_continuations_ != nullptr) { for_continuations_(pool_); }
  }

  /// The number of workers that poll for work. A hint: it may be out of date when it is read.
  std::atomic<int> mutable polling_workers{0};

 private:
  void* pool_ = nullptr;
  ring_function for_work_ = nullptr;
  ring_function for_continuations_ = nullptr;
};

}  // namespace flotilla::dispatch
