#pragma once
/// Counters of a runtime. They never decrease, and are exact after `wait_idle` if no thread
/// submits. A ticket can be ready before its task is counted, because ended tasks are collected
/// later. Reading the counters collects ended tasks too, so repeated reads eventually count every
/// task.

#include <cstdint>

namespace flotilla {
inline namespace v0_1 {

struct device_counters {
  std::uint64_t tasks = 0;    ///< tasks that ended, failed ones included
  std::uint64_t failed = 0;   ///< tasks that failed
  std::uint64_t batches = 0;  ///< groups of launches given to a lane together
  std::uint64_t pushes = 0;   ///< times the context was made current on a thread
  std::uint64_t migrations =
      0;                        ///< times the lease went to another thread than its previous holder
  std::uint64_t callables = 0;  ///< callables that ran
  std::uint64_t pulled = 0;     ///< tasks for any device that this device took
};

struct worker_counters {
  std::uint64_t drains = 0;   ///< times the worker held a lease
  std::uint64_t devices = 0;  ///< bit i: whether the worker drove device i, for the first 64
};

}  // namespace v0_1
}  // namespace flotilla
