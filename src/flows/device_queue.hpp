// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much work of a flow waits for a device or runs there.

#include <cstddef>
#include <deque>
#include <new>

#include <flotilla/task/task_id.hpp>

namespace flotilla::flows {

/// The tasks of a flow on one device that may not have ended, in the order of their submission.
/// Tasks usually end in this order, so it looks at the oldest ones first. If the oldest one does
/// not end, it looks at all of them from time to time, so that the list stays shorter than about
/// twice the number of open tasks. Threads: the caller holds the flow's mutex.
class device_queue {
 public:
  /// Adds a task that was submitted, and forgets tasks that have ended. If there is no memory for
  /// the task, it does not count.
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
  /// earlier one may still count.
  template <class HasEnded>
  [[nodiscard]] double ns(HasEnded const& has_ended) noexcept {
    forget_ended(has_ended);
    return ns_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

 private:
  struct entry {
    task_id task;
    float ns;
  };
  template <class HasEnded>
  void forget_ended(HasEnded const& has_ended) noexcept {
    while (!tasks_.empty() && has_ended(tasks_.front().task)) {
      ns_ -= tasks_.front().ns;
      tasks_.pop_front();
    }
    if (tasks_.empty()) { ns_ = 0; }  // removes the errors of rounding
    if (tasks_.size() < limit_) { return; }
    std::erase_if(tasks_, [&](entry const& each) { return has_ended(each.task); });
    ns_ = 0;
    for (entry const& each : tasks_) { ns_ += each.ns; }
    limit_ = 2 * tasks_.size() + first_limit;
  }

  static constexpr std::size_t first_limit = 1024;
  std::deque<entry> tasks_;
  double ns_ = 0;
  std::size_t limit_ = first_limit;  // if there are more, look at all of them
};

}  // namespace flotilla::flows
