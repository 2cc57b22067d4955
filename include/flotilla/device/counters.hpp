// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counters of a runtime. They never decrease. After `wait_idle` they are exact, as long as no
/// thread submits. At other times, a ticket can be ready before its task is counted, because the
/// runtime counts tasks only when it retires them. Reading the counters also retires ended tasks,
/// so repeated reads eventually count every task.

#include <cstdint>

namespace flotilla {
inline namespace v0_1 {

struct device_counters {
  std::uint64_t tasks = 0;    ///< ended tasks, including failed tasks
  std::uint64_t failed = 0;   ///< failed tasks
  std::uint64_t batches = 0;  ///< batches that were launched
  std::uint64_t pushes = 0;   ///< how often the context was made current on a thread
  /// How often a thread took the device's lease after another thread had held the lease.
  std::uint64_t migrations = 0;
  std::uint64_t callables = 0;  ///< callables that ran
  std::uint64_t pulled = 0;     ///< tasks that named no device and that this device took
};

struct worker_counters {
  std::uint64_t drains = 0;   ///< how often the worker held a lease
  std::uint64_t devices = 0;  ///< bit i is set if the worker drove device i (devices 0 to 63)
};

}  // namespace v0_1
}  // namespace flotilla
