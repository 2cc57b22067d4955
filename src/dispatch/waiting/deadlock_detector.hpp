// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refuses a wait inside a callable if the wait could never end.

#include <atomic>
#include <cstdint>
#include <deque>

#include <flotilla/task/ticket.hpp>

#include "base/cache_line.hpp"
#include "dispatch/device/device_set.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A thread inside a callable holds the lease of its device while it waits. Before the wait, the
/// thread publishes its target, which is a task or a lease. Then it follows the targets that the
/// holders of other leases have published. If these targets lead back to a lease that this thread
/// holds, no thread can end the wait, so the wait is refused.
///
/// Each thread publishes its target before it reads the other targets. So the last thread that
/// joins a cycle of waits sees the whole cycle
/// (tests/unit/dispatch/waiting/deadlock_model_test.cpp). If two threads complete a cycle at the
/// same time, both waits are refused. A wait with a time limit is refused like any other wait.
class deadlock_detector {
 public:
  deadlock_detector(runtime_parts const& shared, device_set const& devices, unsigned count)
      : shared_(shared), devices_(devices), wait_targets_(count) {}

  // Call the two checks only inside a callable of this runtime.

  /// Publishes that this thread waits for the task.
  /// @throws would_deadlock  if the task can go on only after this wait
  void check_wait_for_task(task_id id);
  /// Publishes that this thread waits for the lease of `device`.
  /// @throws would_deadlock  if the lease can be released only after this wait
  void check_wait_for_lease(unsigned device);
  /// Call it inside a continuation of this runtime that waits for a task, in single-threaded mode.
  /// @throws would_deadlock  if a host task must run first, which only this thread could run
  void check_wait_in_continuation(task_id id) const;
  /// Returns whether the task at the end of a chain (propagate_demand) is a host task that runs on
  /// this thread. The chain may be out of date, so a wait is refused only if this is so repeatedly.
  [[nodiscard]] bool waits_for_this_thread(slot_address root) const noexcept;
  [[noreturn]] static void refuse_wait_for_this_thread();
  /// Withdraws the published target. Call this after the wait. Does nothing outside of callables.
  void clear() noexcept { publish(nothing); }

 private:
  // The target of a wait in one word. No target: 0. A task: the slot address in the lower half and
  // the generation in the upper half. The generation of an open task is odd, so the upper half is
  // not zero. A lease: 1 + the device index; the upper half is zero.
  using target = std::uint64_t;
  static constexpr target nothing = 0;
  static target task_target(task_id id) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(id.generation)} << 32 | id.slot;
  }
  static target lease_target(unsigned device) noexcept { return std::uint64_t{device} + 1; }
  static bool is_task(target what) noexcept { return what >> 32 != 0; }

  /// Publishes the target for every lease that this thread holds. A thread holds several leases if
  /// a waiting callable drains another device and runs a callable there.
  void publish(target what) noexcept;
  [[nodiscard]] bool is_resolved(target what) const;
  /// Returns whether the task is a host task. For the last task of a chain (propagate_demand), this
  /// means that only a thread that runs continuations is missing.
  [[nodiscard]] bool waits_for_host_thread(slot_address task) const noexcept;
  void refuse_ring(target mine);

  runtime_parts const& shared_;
  device_set const& devices_;
  struct alignas(base::cache_line) published {
    std::atomic<target> what{nothing};  // written by the holder of the device's lease
  };
  std::deque<published> wait_targets_;  // indexed by device
};

}  // namespace flotilla::dispatch
