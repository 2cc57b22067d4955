// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much work of a flow waits for a device or runs there.

#include <deque>
#include <new>

#include <flotilla/task/task_id.hpp>

namespace flotilla::flows {

/// The tasks of a flow on one device that may not have ended, in the order of their submission.
/// Threads: the caller holds the flow's mutex.
class device_queue {
 public:
  /// Adds a task that was submitted, and forgets the oldest ones that have ended. If there is no
  /// memory for the task, it does not count.
  /// @param ns         The estimated time for which the task occupies the device.
  /// @param has_ended  has_ended(task_id const&)
  template <class HasEnded>
  void add(task_id const& task, float ns, HasEnded const& has_ended) noexcept {
    forget_ended(has_ended);
    try {
      tasks_.push_back({task, ns});
      ns_ += ns;
    } catch (std::bad_alloc const&) {}
  }
  /// Returns the estimated time of the tasks that have not ended. A task that has ended before an
  /// earlier one still counts.
  /// @param has_ended  has_ended(task_id const&)
  template <class HasEnded>
  [[nodiscard]] double ns(HasEnded const& has_ended) {
    forget_ended(has_ended);
    return ns_;
  }

 private:
  template <class HasEnded>
  void forget_ended(HasEnded const& has_ended) noexcept {
    while (!tasks_.empty() && has_ended(tasks_.front().task)) {
      ns_ -= tasks_.front().ns;
      tasks_.pop_front();
    }
    if (tasks_.empty()) { ns_ = 0; }  // removes the errors of rounding
  }

  struct entry {
    task_id task;
    float ns;
  };
  std::deque<entry> tasks_;
  double ns_ = 0;
};

}  // namespace flotilla::flows
