// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much work of a flow waits for a device or runs there.

#include <array>
#include <cstddef>
#include <deque>
#include <new>

#include <flotilla/task/task_id.hpp>

#include "dispatch/task/priority.hpp"

namespace flotilla::flows {

/// The tasks of a flow on one device that may not have ended, in the order of their submission.
/// Tasks usually end in this order, so it looks at the oldest ones first. If the oldest one does
/// not end, it looks at all of them from time to time, so that the list stays shorter than about
/// twice the number of open tasks. Threads: the caller holds the flow's mutex.
class device_queue {
 public:
  using priority_level = dispatch::priority_level;

  /// Adds a task that was submitted, and forgets tasks that have ended. If there is no memory for
  /// the task, it does not count.
  /// @param ns         The estimated time for which the task occupies the device.
  /// @param has_ended  has_ended(task_id const&)
  template <class HasEnded>
  void add(task_id const& task, priority_level level, float ns,
           HasEnded const& has_ended) noexcept {
    forget_ended(has_ended);
    try {
      tasks_.push_back({task, ns, level});
      open_ns_[level] += ns;
      all_ns_ += ns;
    } catch (std::bad_alloc const&) {}
  }
  /// Returns the estimated time of the tasks that have not ended and are at least as urgent. A task
  /// that has ended before an earlier one may still count.
  template <class HasEnded>
  [[nodiscard]] double ns(priority_level level, HasEnded const& has_ended) noexcept {
    forget_ended(has_ended);
    return open_ns(level);
  }
  /// Returns the time of all tasks that were ever added.
  [[nodiscard]] double all_ns() const noexcept { return all_ns_; }
  /// Returns the time of those that have ended, as far as known.
  [[nodiscard]] double ended_ns() const noexcept { return all_ns_ - open_ns(0); }
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

 private:
  struct entry {
    task_id task;
    float ns;
    priority_level level;
  };
  [[nodiscard]] double open_ns(priority_level level) const noexcept {
    double sum = 0;
    for (std::size_t i = level; i < open_ns_.size(); ++i) { sum += open_ns_[i]; }
    return sum;
  }
  template <class HasEnded>
  void forget_ended(HasEnded const& has_ended) noexcept {
    while (!tasks_.empty() && has_ended(tasks_.front().task)) {
      open_ns_[tasks_.front().level] -= tasks_.front().ns;
      tasks_.pop_front();
    }
    if (tasks_.empty()) { open_ns_ = {}; }  // removes the errors of rounding
    if (tasks_.size() < limit_) { return; }
    std::erase_if(tasks_, [&](entry const& each) { return has_ended(each.task); });
    open_ns_ = {};
    for (entry const& each : tasks_) { open_ns_[each.level] += each.ns; }
    limit_ = 2 * tasks_.size() + first_limit;
  }

  static constexpr std::size_t first_limit = 1024;
  std::deque<entry> tasks_;
  std::array<double, dispatch::priority_levels> open_ns_{};  // by level
  double all_ns_ = 0;
  std::size_t limit_ = first_limit;  // if there are more, look at all of them
};

}  // namespace flotilla::flows
