// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lets classes that do not know the worker pool ask the pool for a worker, and lets them tell the
// event descriptor of the runtime that something has happened.

#include <atomic>
#include <thread>

namespace flotilla::dispatch {

/// Forwards requests for a worker to the worker pool, and due continuations to the threads that run
/// them. Each of them connects once, before any task can be submitted. In single-threaded mode,
/// nothing is connected, and requests are ignored. If the application has called `event_fd`, a
/// listener hears of every request as well. Threads: any.
class doorbell {
 public:
  /// Hears what an event loop must react to. The functions are called after the event is visible to
  /// a thread that looks for it.
  class listener {
   public:
    virtual void work_announced() noexcept = 0;
    virtual void continuation_changed() noexcept = 0;
    /// A task has ended, a continuation has run, or the driver has become poisoned.
    virtual void task_ended() noexcept = 0;
    /// A lease was released, so the state of a device may have changed.
    virtual void lease_released() noexcept = 0;

   protected:
    ~listener() = default;
  };

  using ring_function = void (*)(void* pool) noexcept;

  /// Connects the worker pool.
  /// @param for_work           Asks for another worker if fewer than the maximum are active.
  /// @param for_continuations  Does the same as `for_work`, unless a worker already polls for ended
  /// tasks.
  /// @param for_callable       Announces that a callable is about to run.
  /// @param for_copy           Asks for a thread that takes part in a copy of host memory.
  void connect(void* pool, ring_function for_work, ring_function for_continuations,
               ring_function for_callable, ring_function for_copy) noexcept {
    pool_ = pool;
    for_work_ = for_work;
    for_continuations_ = for_continuations;
    for_callable_ = for_callable;
    for_copy_ = for_copy;
  }
  /// Connects the threads that run continuations.
  /// @param for_due  Asks for a thread if a continuation is due.
  void connect_continuations(void* threads, ring_function for_due) noexcept {
    threads_ = threads;
    for_due_ = for_due;
  }

  /// Sets the listener.
  void set_listener(listener* who) noexcept {
    listener_.store(who, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the load in tell
  }
  /// Removes the listener, and waits until no thread is in one of its functions any more. Tickets
  /// outlive the runtime, so a thread that cancels or waits may tell the doorbell at any time.
  void remove_listener() noexcept {
    listener_.store(nullptr, std::memory_order_seq_cst);
    // seq_cst: pairs with `tell`. acquire: what the listener did is over.
    while (tellers_.load(std::memory_order_seq_cst) != 0) { std::this_thread::yield(); }
  }

  /// Asks for a worker. Call this after the work was announced.
  void ring() const noexcept {
    if (for_work_ != nullptr) { for_work_(pool_); }
    tell(&listener::work_announced);
  }
  /// Asks for a worker if work is left. Call this after a lease was released.
  /// @param announced  Whether work was announced while the lease was held. The rest of the work
  ///                   makes progress only when the device does.
  void ring_after_lease(bool announced, bool is_work_left) const noexcept {
    if (is_work_left && for_work_ != nullptr) { for_work_(pool_); }
    tell(announced ? &listener::work_announced : &listener::lease_released);
  }
  /// Asks for a thread that runs due continuations, and for a worker that polls for ended tasks.
  /// Call this after a continuation was registered or became due.
  void ring_for_continuations() const noexcept {
    // First the threads. If none can be started, the worker runs the continuations.
    if (for_due_ != nullptr) { for_due_(threads_); }
    if (for_continuations_ != nullptr) { for_continuations_(pool_); }
    tell(&listener::continuation_changed);
  }
  /// Announces that a callable is about to run. Call this after the time of its beginning was
  /// stored.
  void note_callable() const noexcept {
    if (for_callable_ != nullptr) { for_callable_(pool_); }
  }
  /// Asks for one more thread that takes part in copies of host memory (shared_copy), unless enough
  /// do. Call this after a copy has begun. Nothing depends on such a thread.
  void ring_for_copy() const noexcept {
    if (for_copy_ != nullptr) { for_copy_(pool_); }
  }
  /// Call this after tasks have ended or continuations have run, or after the runtime was poisoned.
  void note_end() const noexcept { tell(&listener::task_ended); }

  /// The number of workers that poll for work. The value may be out of date.
  std::atomic<int> mutable polling_workers{0};

 private:
  void tell(void (listener::*what)() noexcept) const noexcept {
    // seq_cst: the caller has published its event with a seq_cst operation, or before a seq_cst
    // fence. So if it does not see the listener yet, the thread that sets the listener sees the
    // event afterwards. event_source raises the signal after it has set the listener.
    if (listener_.load(std::memory_order_seq_cst) != nullptr) [[unlikely]] { tell_listener(what); }
  }
  [[gnu::noinline]] void tell_listener(void (listener::*what)() noexcept) const noexcept {
    // First count, then read the listener again: either remove_listener sees the count and waits,
    // or this thread sees that the listener is gone (tests/unit/dispatch/queue/listener_test.cpp).
    tellers_.fetch_add(1, std::memory_order_seq_cst);
    listener* const who = listener_.load(std::memory_order_seq_cst);
    if (who != nullptr) { (who->*what)(); }
    tellers_.fetch_sub(1, std::memory_order_release);  // pairs with the load in remove_listener
  }

  void* pool_ = nullptr;
  ring_function for_work_ = nullptr;
  ring_function for_continuations_ = nullptr;
  ring_function for_callable_ = nullptr;
  ring_function for_copy_ = nullptr;
  void* threads_ = nullptr;
  ring_function for_due_ = nullptr;
  std::atomic<listener*> listener_{nullptr};
  std::atomic<int> mutable tellers_{0};  // the threads that may use the listener
};

}  // namespace flotilla::dispatch
