#pragma once
// Ends tasks. No other class does.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "base/cache_line.hpp"
#include "base/sharded_count.hpp"
#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "dispatch/ordering/posted_errors.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/slot_returns.hpp"

namespace flotilla::dispatch {

/// Ends tasks. It stores the failure, moves the generation, releases watchers and parked tasks, and
/// gives the slot back. This order matters, because a thread that sees one step relies on the steps
/// before it. If the task's ticket still exists, task_end adds the ticket to the count of tickets
/// that outlived their tasks. It runs no user code.
///
/// Threads: for a task that a device has, only the holder of that device's lease; for other tasks,
/// any thread.
class task_end {
 public:
  /// The objects that the end of a task uses.
  struct parts {
    task_table const& tasks;
    failure_table& failures;
    epoch_reclaimer& reclaimer;
    dependencies& order;
    continuation_table& continuations;
    posted_errors& posted;
    shared_queue& shared;
    base::sharded_count& tickets;  // the number of tickets that outlived their tasks
    doorbell const& bell;
  };
  explicit task_end(parts const& with) : parts_(with), counts_(with.tasks.devices()) {}

  /// Ends one task.
  /// @param why  The failure; null if the task succeeded.
  void end(slot_address task, std::shared_ptr<failure const> why);
  /// Ends tasks of one device and one level that all succeeded.
  /// @param returns  Receives their slots.
  /// @return how many of the tasks were submitted for any device.
  std::uint32_t end_batch(unsigned device, priority_level level,
                          std::span<slot_address const> tasks, slot_returns& returns);
  /// Notifies the continuations that watch the task of its end.
  void notify_watchers(slot_address task, std::uint64_t generation, std::exception_ptr const& why);

  [[nodiscard]] std::uint64_t ended(unsigned device) const noexcept {
    return counts_[device].ended.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failed(unsigned device) const noexcept {
    return counts_[device].failed.load(std::memory_order_relaxed);
  }

 private:
  /// The counts of one device's ended tasks. The holder of the device's lease writes them; any
  /// thread may read them.
  struct alignas(base::cache_line) count {
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> failed{0};
  };

  parts const parts_;
  std::deque<count> counts_;  // by device index
};

}  // namespace flotilla::dispatch
