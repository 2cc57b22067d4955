// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors of posted tasks.

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Passes the errors of posted tasks to the runtime's error handler. The handler runs as a
/// continuation that is due at once, so `report` itself runs no user code.
///
/// Without a handler, prints each first cause once, and counts the tasks behind it. The counts are
/// printed when the runtime is idle. Cancellations are not printed, because the program has asked
/// for them. Threads: any.
class posted_errors {
 public:
  using error_handler = std::function<void(std::exception_ptr)>;

  /// @param handler  May be empty.
  posted_errors(error_handler handler, task_table const& tasks,
                std::shared_ptr<continuation_table> table, doorbell const& bell);

  /// Notes that a task was posted.
  void expect() noexcept {
    if (!expected_.load(std::memory_order_relaxed)) {
      expected_.store(true, std::memory_order_relaxed);  // relaxed: only awaits_poison reads it
    }
  }
  /// Notes that a posted task is open. Call it after the submitting thread has announced the task,
  /// which has a seq_cst fence.
  void note_open() noexcept {
    if (poison_.load(std::memory_order_relaxed) != poison::unknown) [[unlikely]] { look_again(); }
  }
  /// Reports the error of a posted task. If there is no memory for the continuation, prints the
  /// error on stderr.
  void report(std::shared_ptr<failure const> const& why) noexcept;
  /// Prints how many tasks are behind each error that was printed. Call it when all tasks have
  /// ended.
  void print_counts() noexcept;

  /// Returns whether `report_poison` must be called when the runtime is poisoned.
  [[nodiscard]] bool awaits_poison() const noexcept {
    return expected_.load(std::memory_order_relaxed) &&
           poison_.load(std::memory_order_acquire) == poison::unknown;
  }
  /// Reports `why` if a posted task is open. Only the first report has an effect. The runtime does
  /// not end meanwhile. Call it on a poisoned runtime, where open tasks do not end one by one.
  /// @param is_bulk_open  Whether a bulk without a ticket is open. Its items are not posted tasks.
  void report_poison(std::shared_ptr<failure const> const& why, bool is_bulk_open) noexcept;

 private:
  /// What is known of the error of a poisoned runtime.
  enum class poison : unsigned char {
    unknown,   // perhaps it must be reported
    searched,  // a thread looks for open posted tasks, or has found none
    reported
  };
  /// A task was posted while a thread looked for open posted tasks, or later.
  void look_again() noexcept;
  /// An error that was printed.
  struct printed {
    std::shared_ptr<failure const> first;  // keeps its address from another failure
    std::size_t behind = 0;                // posted tasks that did not run because of it
  };
  /// Prints the error, or counts it if its first cause was printed.
  void print(std::shared_ptr<failure const> const& why);

  error_handler const handler_;
  task_table const& tasks_;
  std::shared_ptr<continuation_table> const table_;
  doorbell const& bell_;
  std::atomic<bool> expected_{false};  // set by submitting threads
  std::atomic<poison> poison_{poison::unknown};
  std::mutex printing_;
  std::vector<printed> printed_;  // guarded by printing_
};

}  // namespace flotilla::dispatch
