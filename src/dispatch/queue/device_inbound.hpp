#pragma once
// The tasks that wait for one device, and the announcement that there are some.

#include <atomic>
#include <mutex>

#include "base/cache_line.hpp"
#include "context/lease.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/queue/inbox_registry.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The queues to one device: an inbox for each submitting thread, and the tasks that come back from
/// being parked.
///
/// The handshake that strands no task: a thread pushes a task, fences, and looks at `pending_`; a
/// pass clears `pending_`, fences, and looks at the queues. Either the pass finds the task, or the
/// thread finds `pending_` cleared, sets it and rings for a worker. The holder of the lease looks
/// at `needs_drain` again after it has released the lease, because a thread that saw the lease held
/// did not ring (tests/unit/dispatch/queue/handshake_model_test.cpp).
class alignas(base::cache_line) device_inbound {
 public:
  device_inbound(task_table const& tasks, context::lease_gate const& gate, doorbell const& bell)
      : tasks_(tasks), gate_(gate), bell_(bell) {}

  // ---- any thread ----

  /// Announces work. Call it after the push. Rings for a worker if no work was announced before.
  void announce() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in begin_pass
    if (!pending_.load(std::memory_order_relaxed) &&
        !pending_.exchange(true, std::memory_order_seq_cst)) {
      ring();
    }
  }
  /// Takes back a parked task whose predecessor has moved on, and announces it.
  void requeue(slot_address task) noexcept;

  /// Whether a thread should drain: work was announced, or the last pass left work that only
  /// another pass can move on.
  [[nodiscard]] bool needs_drain() const noexcept {
    return pending_.load(std::memory_order_seq_cst) || has_backlog();
  }
  /// Whether work was announced since the last pass began. A hint. Cost: one load.
  [[nodiscard]] bool is_announced() const noexcept {
    return pending_.load(std::memory_order_relaxed);
  }
  /// Whether the last pass left work behind.
  [[nodiscard]] bool has_backlog() const noexcept {
    // acquire: pairs with the release in set_backlog
    return backlog_.load(std::memory_order_acquire);
  }

  /// A hint: the submitting thread will wait for its task and launch it itself (see
  /// wait_predictor). Call it before `announce`; the next pass clears it. A worker that sees the
  /// hint delays briefly.
  void expect_waiter() noexcept { waiter_expected_.store(true, std::memory_order_relaxed); }
  void expect_no_waiter() noexcept { waiter_expected_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool expects_waiter() const noexcept {
    return waiter_expected_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] inbox_registry& inboxes() noexcept { return inboxes_; }

  // ---- the holder of the lease ----

  /// Call it at the beginning of a pass, before any queue is read.
  void begin_pass() noexcept {
    pending_.store(false, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce
    if (expects_waiter()) { expect_no_waiter(); }
  }
  void set_backlog(bool left) noexcept { backlog_.store(left, std::memory_order_release); }
  /// Takes all requeued tasks. @return the first, or no_slot; `slot::next_parked` leads to the
  /// next, in the order in which they were requeued.
  [[nodiscard]] slot_address take_requeued() noexcept;
  /// Whether a requeued task is more urgent than `level`. A hint. Cost: one load.
  [[nodiscard]] bool has_requeued_above(int level) const noexcept {
    return max_requeued_level_.load(std::memory_order_relaxed) > level;
  }

 private:
  /// Asks for a worker, unless the lease is held.
  void ring() const noexcept;

  task_table const& tasks_;
  context::lease_gate const& gate_;
  doorbell const& bell_;
  std::atomic<bool> pending_{false};          // any thread sets it, a pass clears it
  std::atomic<bool> waiter_expected_{false};  // submitters set it, workers and passes clear it
  std::atomic<bool> backlog_{false};          // the holder of the lease
  inbox_registry inboxes_;
  // Requeued tasks, as a list through slot::next_parked, so that requeuing allocates nothing.
  std::mutex requeued_mutex_;
  slot_address first_requeued_ = no_slot;
  slot_address last_requeued_ = no_slot;
  // The highest level in the list, -1 if it is empty. Written under the mutex; a pass looks here
  // first.
  std::atomic<int> max_requeued_level_{-1};
};

}  // namespace flotilla::dispatch
