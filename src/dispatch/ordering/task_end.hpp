#pragma once
// The one place where a task ends.

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

/// Ends tasks: stores the failure, moves the generation, lets watchers and parked tasks go on, and
/// gives the slot back. The order matters, because a thread that sees one step relies on those
/// before it. Also counts the ticket if it is left. No user code runs here.
///
/// Threads: the holder of the lease of the device that has the task; any thread, for a task that no
/// device has.
class task_end {
 public:
  /// What a task's end touches.
  struct parts {
    task_table const& tasks;
    failure_table& failures;
    epoch_reclaimer& reclaimer;
    dependencies& order;
    continuation_table& continuations;
    posted_errors& posted;
    shared_queue& shared;
    base::sharded_count& tickets;  // tickets that outlived their tasks
    doorbell const& bell;
  };
  explicit task_end(parts const& with) : parts_(with), counts_(with.tasks.devices()) {}

  /// Ends one task. @param why  null: it ended well.
  void end(slot_address task, std::shared_ptr<failure const> why);
  /// Ends tasks of one device and of one level that all ended well.
  /// @param returns  Gets their slots.
  /// @return how many of them were submitted for any device.
  std::uint32_t end_batch(unsigned device, priority_level level,
                          std::span<slot_address const> tasks, slot_returns& returns);
  /// Tells the continuations that watch the task that it has ended.
  void notify_watchers(slot_address task, std::uint64_t generation, std::exception_ptr const& why);

  [[nodiscard]] std::uint64_t ended(unsigned device) const noexcept {
    return counts_[device].ended.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failed(unsigned device) const noexcept {
    return counts_[device].failed.load(std::memory_order_relaxed);
  }

 private:
  /// Tasks of one device that have ended. The holder of its lease writes, any thread reads.
  struct alignas(base::cache_line) count {
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> failed{0};
  };

  parts const parts_;
  std::deque<count> counts_;  // by device
};

}  // namespace flotilla::dispatch
