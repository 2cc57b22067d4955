// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open bulks: tasks that share one ticket.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <flotilla/task/task_id.hpp>

#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_state.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The items of one bulk: how many have not ended, and the failed item with the
/// smallest index. A task of the bulk is one item, or several items (chunk_command).
///
/// The count begins with the number of items plus 1 for the call itself. The call counts itself
/// after it has opened the task that the ticket names. So whoever counts last, the thread that ends
/// an item or the call, finds this task open, and ends it. As with any reference count, the
/// decrements are acq_rel, so the last thread sees what the others have written.
class bulk {
 public:
  bulk(bulk const&) = delete;
  bulk& operator=(bulk const&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Makes room for the name of one more task. @throws std::bad_alloc
  void reserve_task() {
    if (tasks_.size() == tasks_.capacity()) { tasks_.reserve(2 * tasks_.size()); }
  }
  /// Records the name of a task, for which there must be room. Threads: only the thread that
  /// submits the bulk.
  void add_task(task_key task) noexcept { tasks_.push_back(task); }
  /// Returns the tasks in the order of their items. Threads: the thread that submits the bulk.
  /// After bulk_table::set_task: any thread.
  [[nodiscard]] std::vector<task_key> const& tasks() const noexcept { return tasks_; }
  /// Records that an item failed. Call this before the item is counted. Threads: any.
  void note_failure(std::size_t index, std::shared_ptr<failure const> why) {
    std::lock_guard const lock{mutex_};
    if (why_ != nullptr && index_of_failure_ < index) { return; }
    index_of_failure_ = index;
    why_.swap(why);  // so that an exception is destroyed after the unlock
  }
  /// Counts items that have ended, or the call itself. @return whether nothing is left.
  [[nodiscard]] bool arrive(std::size_t count) noexcept {
    return left_.fetch_sub(count, std::memory_order_acq_rel) == count;
  }
  /// Returns the failure of the bulk, or null if no item failed. Call this when nothing is left.
  [[nodiscard]] std::shared_ptr<failure const> failure_of_items() const;

 private:
  friend class bulk_table;
  explicit bulk(std::size_t size) : size_(size), left_(size + 1) {
    tasks_.reserve(std::clamp<std::size_t>(size, 1, first_tasks));
  }
  ~bulk() = default;

  // Room for the tasks of a large bulk that is divided into chunks.
  static constexpr std::size_t first_tasks = 32;
  std::size_t const size_;
  std::vector<task_key> tasks_;
  std::atomic<std::size_t> left_;
  std::atomic<std::uint32_t> owners_{1};  // the items together, and threads that use the bulk
  std::mutex mutex_;
  // mutex_ guards these members until nothing is left:
  std::size_t index_of_failure_ = 0;
  std::shared_ptr<failure const> why_;
  // The mutex of the table guards these members:
  bulk* next_ = nullptr;
  slot_address task_ = no_slot;  // the task that the ticket names
  std::uint64_t generation_ = 0;
  std::size_t first_open_ = 0;  // all earlier tasks have ended
};

/// The bulks of a runtime that have not ended. Threads: any.
class bulk_table {
 public:
  explicit bulk_table(task_table const& tasks) noexcept : tasks_(tasks) {}
  /// Frees the bulks that are still open, which happens only if the runtime was poisoned.
  ~bulk_table();
  bulk_table(bulk_table const&) = delete;
  bulk_table& operator=(bulk_table const&) = delete;

  /// Adds a bulk without a ticket. @throws std::bad_alloc
  [[nodiscard]] bulk& add(std::size_t size);
  /// Records the task that the bulk's ticket names. All tasks of the bulk must have their names.
  void set_task(bulk& which, slot_address task, std::uint64_t generation) noexcept;
  /// Notes that a bulk has no ticket: it was posted, or its call has thrown. Call it before the
  /// call counts itself. From then on, the runtime is not idle until the error of the bulk is
  /// reported.
  void give_up_ticket() noexcept { without_ticket_.fetch_add(1, std::memory_order_seq_cst); }
  /// Ends what `give_up_ticket` began. Call it after the error of the bulk was reported.
  void note_reported() noexcept { without_ticket_.fetch_sub(1, std::memory_order_seq_cst); }
  /// Returns whether a bulk without a ticket may still report an error. The slots of its items are
  /// free before that. Cost: one load.
  [[nodiscard]] bool any_without_ticket() const noexcept {
    return without_ticket_.load(std::memory_order_seq_cst) != 0;
  }
  /// Removes a bulk of which nothing is left. @return the task that its ticket names; no_slot if it
  /// has none. The caller must release the bulk.
  [[nodiscard]] slot_address remove(bulk& which) noexcept;
  static void release(bulk& which) noexcept;

  /// Returns whether any bulk is open. Cost: one load.
  [[nodiscard]] bool any_open() const noexcept {
    return open_.load(std::memory_order_seq_cst) != 0;
  }
  /// Cancels the items of a bulk that are not launched.
  /// @param id   The task that the ticket names.
  /// @param end  Called with the slot and the generation of each item that will not run.
  /// @return whether any item was cancelled, now or earlier. Empty if no open bulk has this task.
  template <class End>
  [[nodiscard]] std::optional<bool> cancel(task_id const& id, End const& end);
  /// If the task ends an open bulk, lets the task look as if it were parked on the bulk's first
  /// task that has not ended. So waiting threads help with that task, and with the tasks on which
  /// it is parked (dependencies::propagate_demand).
  void point_to_open_task(task_id const& id) noexcept;

 private:
  [[nodiscard]] bulk* find(task_id const& id) const noexcept;
  /// Returns the open bulk with this task, or null. The caller must release it.
  [[nodiscard]] bulk* share(task_id const& id) noexcept;
  [[nodiscard]] std::uint64_t generation_now(slot_address task) const noexcept;

  task_table const& tasks_;
  std::mutex mutex_;
  bulk* first_ = nullptr;             // a list; guarded by mutex_
  std::atomic<std::size_t> open_{0};  // the size of the list; written with mutex_ locked
  std::atomic<std::size_t> without_ticket_{0};
};

template <class End>
std::optional<bool> bulk_table::cancel(task_id const& id, End const& end) {
  bulk* const found = share(id);
  if (found == nullptr) { return std::nullopt; }
  // Not under the mutex: a thread that ends another bulk must not wait for this loop.
  bool any = false;
  for (task_key const task : found->tasks_) {
    std::uint64_t const now = generation_now(task.slot);
    if (static_cast<std::uint32_t>(now) != task.generation) { continue; }
    if (request_cancel(tasks_.at(task.slot), now) != cancel_answer::will_not_run) { continue; }
    any = true;
    end(task.slot, now);
  }
  release(*found);
  return any;
}

}  // namespace flotilla::dispatch
