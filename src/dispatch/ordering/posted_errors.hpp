// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors of posted tasks.

#include <atomic>
#include <exception>
#include <functional>
#include <memory>

#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Passes the errors of posted tasks to the runtime's error handler. The handler runs as a
/// continuation that is due at once, so `report` itself runs no user code. Threads: any.
class posted_errors {
 public:
  using error_handler = std::function<void(std::exception_ptr)>;

  /// @param handler  If it is empty, errors are printed on stderr.
  posted_errors(error_handler handler, task_table const& tasks,
                std::shared_ptr<continuation_table> table, doorbell const& bell);

  /// Notes that a task was posted.
  void expect() noexcept {
    if (!expected_.load(std::memory_order_relaxed)) {
      expected_.store(true, std::memory_order_relaxed);  // relaxed: only awaits_poison reads it
    }
  }
  /// Reports the error of a posted task. If there is no memory for the continuation, prints the
  /// error on stderr.
  void report(std::exception_ptr const& why) noexcept;

  /// Returns whether `report_poison` must be called when the runtime is poisoned.
  [[nodiscard]] bool awaits_poison() const noexcept {
    return expected_.load(std::memory_order_relaxed) &&
           !poison_reported_.load(std::memory_order_relaxed);
  }
  /// Reports `why` if a posted task is open. Only the first call has an effect. Call it on a
  /// poisoned runtime, where open tasks do not end one by one.
  void report_poison(std::exception_ptr const& why) noexcept;

 private:
  error_handler const handler_;
  task_table const& tasks_;
  std::shared_ptr<continuation_table> const table_;
  doorbell const& bell_;
  std::atomic<bool> expected_{false};         // set by submitting threads
  std::atomic<bool> poison_reported_{false};  // set by the first call of report_poison
};

}  // namespace flotilla::dispatch
