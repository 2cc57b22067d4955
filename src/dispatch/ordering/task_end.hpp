// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ends tasks. Every task ends through this class.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "base/cache_line.hpp"
#include "base/sharded_count.hpp"
#include "base/single_writer.hpp"
#include "dispatch/lane/chunk_memory.hpp"
#include "dispatch/ordering/bulk_table.hpp"
#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "dispatch/ordering/posted_errors.hpp"
#include "dispatch/task/deadline_queue.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/slot_returns.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla::dispatch {

/// To end a task, task_end stores the failure, reports it if the task was posted, increments the
/// generation, notifies watchers, releases parked tasks, and gives the slot back. This order
/// matters, because a thread that sees one step relies on the earlier steps. If the task's ticket
/// still exists, task_end counts the ticket as one that has outlived its task. No user code runs.
///
/// Threads: only the holder of the device's lease if a device has taken the task; otherwise any
/// thread.
class task_end {
 public:
  /// The objects that the end of a task uses.
  struct parts {
    task_table const& tasks;
    failure_table& failures;
    epoch_reclaimer& reclaimer;
    dependencies& order;
    continuation_table& continuations;
    bulk_table& bulks;
    chunk_memories& chunks;
    posted_errors& posted;
    shared_queue& shared;
    base::sharded_count& tickets;  // the number of tickets that outlived their tasks
    deadline_queue& deadlines;
    doorbell const& bell;
    tracer& trace;
  };
  explicit task_end(parts const& with) : parts_(with), counts_(with.tasks.devices()) {}

  /// Ends one task.
  /// @param why  The failure; null if the task succeeded. If the task is a chunk of a bulk, the
  /// failure is that of each of its items.
  void end(slot_address task, std::shared_ptr<failure const> why);
  /// Ends a cancelled task while a queue may still hold its slot. The caller must have claimed the
  /// end (claim_early_end). Gives the slot back unless it is in a queue. Threads: any.
  void end_early(slot_address task, std::shared_ptr<failure const> why);
  /// Lets go of a slot that was taken out of a queue, and whose task another thread ends or has
  /// ended. Threads: only the thread that had the slot in its queue.
  void drop(slot_address task);
  /// Ends tasks that all have succeeded. They must have the same device and priority level. None of
  /// them may be a chunk. The caller calls doorbell::note_end after the slots were returned.
  /// @param returns  Receives the slots of the tasks.
  /// @return how many of the tasks came from the shared queue.
  std::uint32_t end_batch(unsigned device, priority_level level,
                          std::span<slot_address const> tasks, slot_returns& returns);
  /// Tells the continuations that watch `task` that the task has ended.
  void notify_watchers(slot_address task, std::uint64_t generation, std::exception_ptr const& why);

  /// Counts items of a chunk that have failed although their chunk succeeds. Threads: only the
  /// holder of the device's lease.
  void count_failed(unsigned device, std::size_t items) noexcept {
    base::add(counts_[device].failed, items);
  }

  /// Counts `ended` items of a bulk that have ended. If no item is left, ends the task of the
  /// bulk's ticket, or reports the error if there is no ticket. The bulk may then be gone.
  /// Threads: any.
  void arrive(bulk& which, std::size_t ended);

  [[nodiscard]] std::uint64_t ended(unsigned device) const noexcept {
    return counts_[device].ended.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failed(unsigned device) const noexcept {
    return counts_[device].failed.load(std::memory_order_relaxed);
  }

 private:
  /// Items of one bulk that have ended one after the other. They are counted together.
  struct run_of_items {
    bulk* which = nullptr;
    std::size_t size = 0;
  };

  /// Reports a failure if the task was posted. Call it before the generation changes.
  void report_if_posted(slot const& task, std::shared_ptr<failure const> const& why) noexcept;
  /// The steps of an end that follow the change of the generation.
  /// @param before  The generation word before the end.
  void finish(slot_address task, generation_word before, std::shared_ptr<failure const> const& why,
              run_of_items& items);
  /// Tells the continuations that watch `task` about its end, destroys its stop callback, forgets
  /// its deadline, and adds the task to `items` if it is an item. Not inline, because few tasks
  /// have any of these.
  /// @param before  The generation word before the end.
  [[gnu::noinline]] void note_observers(slot_address task, generation_word before,
                                        std::shared_ptr<failure const> const& why,
                                        run_of_items& items);

  /// Returns whether the ticket of a task still exists. Call it once for each task that ends, after
  /// its generation has changed.
  /// @param before  The generation word before the end.
  [[nodiscard]] bool has_ticket_left(slot_address task, generation_word before) const noexcept;

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
