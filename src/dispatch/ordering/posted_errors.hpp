#pragma once
// The errors of posted tasks, which have no ticket.

#include <atomic>
#include <exception>
#include <functional>
#include <memory>

#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Hands errors to the runtime's handler, as continuations that are due at once: no user code runs
/// inside `report`. Threads: any.
class posted_errors {
 public:
  using error_handler = std::function<void(std::exception_ptr)>;

  /// @param handler  Empty: errors are printed on stderr.
  posted_errors(error_handler handler, task_table const& tasks,
                std::shared_ptr<continuation_table> table, doorbell const& bell);

  /// A task was posted.
  void expect() noexcept {
    if (!expected_.load(std::memory_order_relaxed)) {
      expected_.store(true, std::memory_order_relaxed);  // relaxed: read for a hint only
    }
  }
  /// A posted task failed. Without memory the error is printed.
  void report(std::exception_ptr const& why) noexcept;

  /// Whether `report_poison` must still be called if the runtime is poisoned.
  [[nodiscard]] bool awaits_poison() const noexcept {
    return expected_.load(std::memory_order_relaxed) &&
           !poison_reported_.load(std::memory_order_relaxed);
  }
  /// Reports once that the runtime is poisoned, if a posted task is open.
  void report_poison(std::exception_ptr const& why) noexcept;

 private:
  error_handler const handler_;
  task_table const& tasks_;
  std::shared_ptr<continuation_table> const table_;
  doorbell const& bell_;
  std::atomic<bool> expected_{false};         // submitters: a task was posted
  std::atomic<bool> poison_reported_{false};  // the first thread in report_poison
};

}  // namespace flotilla::dispatch
