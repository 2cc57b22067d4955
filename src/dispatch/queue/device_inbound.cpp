// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue/device_inbound.hpp"

#include <algorithm>
#include <utility>

namespace flotilla::dispatch {

void device_inbound::requeue(slot_address task) noexcept {
  {
    slot& one = tasks_.at(task);
    one.next_parked.store(no_slot, std::memory_order_relaxed);
    std::lock_guard const lock{requeued_mutex_};
    if (first_requeued_ == no_slot) {
      first_requeued_ = task;
    } else {
      tasks_.at(last_requeued_).next_parked.store(task, std::memory_order_relaxed);
    }
    last_requeued_ = task;
    int const highest =
        std::max(max_requeued_level_.load(std::memory_order_relaxed), int{one.level});
    // release: pairs with the acquire in take_requeued
    max_requeued_level_.store(highest, std::memory_order_release);
  }
  announce();
}

slot_address device_inbound::take_requeued() noexcept {
  if (max_requeued_level_.load(std::memory_order_acquire) < 0) { return no_slot; }
  std::lock_guard const lock{requeued_mutex_};
  max_requeued_level_.store(-1, std::memory_order_relaxed);
  return std::exchange(first_requeued_, no_slot);
}

void device_inbound::ring() const noexcept {
  // The caller has announced work and now reads the lease. The holder releases the lease and then
  // reads the announcement. So at least one of the two threads sees what the other has written. The
  // fence pairs with the fence in needs_drain_after_release.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!gate_.held()) { bell_.ring(); }
}

}  // namespace flotilla::dispatch
