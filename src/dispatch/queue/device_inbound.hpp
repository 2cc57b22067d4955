// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks that wait for one device, and the flag that announces them.

#include <atomic>
#include <mutex>

#include "base/cache_line.hpp"
#include "context/lease.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/queue/inbox_registry.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The queues to one device: an inbox for each submitting thread, and the list of requeued tasks.
///
/// A handshake ensures that no task is forgotten. A submitting thread pushes a task, executes a
/// fence, and reads `pending_`. A pass clears `pending_`, executes a fence, and reads the queues.
/// Either the pass finds the task, or the thread reads `pending_` as false, sets `pending_` and
/// asks for a worker. There is one exception: while the lease is held, the thread sets `pending_`
/// but asks for no worker. Therefore the holder calls `needs_drain` after it has released the lease
/// (tests/unit/dispatch/queue/handshake_model_test.cpp).
class alignas(base::cache_line) device_inbound {
 public:
  device_inbound(task_table const& tasks, context::lease_gate const& gate, doorbell const& bell)
      : tasks_(tasks), gate_(gate), bell_(bell) {}

  // ---- any thread ----

  /// Announces work. Asks for a worker if no announcement was pending. Call this after the task was
  /// pushed.
  void announce() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in begin_pass
    if (!pending_.load(std::memory_order_relaxed) &&
        !pending_.exchange(true, std::memory_order_seq_cst)) {
      ring();
    }
  }
  /// Puts a parked task into the list of requeued tasks, and announces the task. Call this after
  /// the task's predecessor was launched or has ended.
  void requeue(slot_address task) noexcept;

  /// Returns whether a thread should drain the device: work was announced, or the last pass left
  /// work that needs another pass.
  [[nodiscard]] bool needs_drain() const noexcept {
    return pending_.load(std::memory_order_seq_cst) || has_backlog();
  }
  /// The same for a thread that has just released the lease. If another thread announces work at
  /// the same time, either this function returns true, or the other thread sees that the lease is
  /// free.
  [[nodiscard]] bool needs_drain_after_release() const noexcept {
    // Pairs with the fences in ring and in worker::stay_after_all: a backlog must be visible before
    // this thread looks for an active worker.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return needs_drain();
  }
  /// Returns whether work was announced since the last pass began. The answer may be out of date.
  /// Cost: one load.
  [[nodiscard]] bool is_announced() const noexcept {
    return pending_.load(std::memory_order_relaxed);
  }
  /// Returns whether the last pass left work that needs another pass.
  [[nodiscard]] bool has_backlog() const noexcept {
    // acquire: pairs with the release in set_backlog
    return backlog_.load(std::memory_order_acquire);
  }

  /// Sets a hint: the submitting thread will probably wait for its task and launch the task itself
  /// (see wait_predictor). A worker that sees the hint pauses briefly. The next pass clears the
  /// hint. Call this before `announce`.
  void expect_waiter() noexcept { waiter_expected_.store(true, std::memory_order_relaxed); }
  void expect_no_waiter() noexcept { waiter_expected_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool expects_waiter() const noexcept {
    return waiter_expected_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] inbox_registry& inboxes() noexcept { return inboxes_; }

  // ---- the holder of the lease ----

  /// Clears the announcement and the hint. Call this at the beginning of a pass, before any queue
  /// is read.
  void begin_pass() noexcept {
    pending_.store(false, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce
    if (expects_waiter()) { expect_no_waiter(); }
  }
  void set_backlog(bool left) noexcept { backlog_.store(left, std::memory_order_release); }
  /// Takes all requeued tasks, which are linked through `slot::next_parked` in the order of their
  /// requeuing.
  /// @return the first task, or no_slot if there is none.
  [[nodiscard]] slot_address take_requeued() noexcept;
  /// Returns whether a requeued task is more urgent than `level`. The answer may be out of date.
  /// Cost: one load.
  [[nodiscard]] bool has_requeued_above(int level) const noexcept {
    return max_requeued_level_.load(std::memory_order_relaxed) > level;
  }

 private:
  /// Asks for a worker unless the lease is held.
  void ring() const noexcept;

  task_table const& tasks_;
  context::lease_gate const& gate_;
  doorbell const& bell_;
  std::atomic<bool> pending_{false};          // set by any thread, cleared by a pass
  std::atomic<bool> waiter_expected_{false};  // set by submitters, cleared by workers and passes
  std::atomic<bool> backlog_{false};          // written by the holder of the lease
  inbox_registry inboxes_;
  // The requeued tasks are linked through slot::next_parked, so requeuing allocates nothing.
  std::mutex requeued_mutex_;
  slot_address first_requeued_ = no_slot;
  slot_address last_requeued_ = no_slot;
  // The highest level in the list; -1 if the list is empty. Written under requeued_mutex_. A pass
  // reads this level first, to avoid the lock if the list is empty.
  std::atomic<int> max_requeued_level_{-1};
};

}  // namespace flotilla::dispatch
