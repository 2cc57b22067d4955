// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks of a flow whose failure matters to later tasks.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <flotilla/task/task_id.hpp>

namespace flotilla::flows {

/// The task that has written a replica, or will write it. It has one owner for each replica.
struct writer {
  task_id task{};
  std::uint32_t owners = 0;
  writer* next_free = nullptr;
};

/// Owns all writers of a flow. While a writer has an owner, the runtime keeps the failure of its
/// task, so that later tasks can depend on the task even if it ended long ago. Afterwards the
/// failure is forgotten as soon as the task has ended. Threads: the caller holds the flow's mutex.
class writer_table {
 public:
  /// Returns a new writer without an owner. @throws std::bad_alloc
  [[nodiscard]] writer& add() {
    if (free_ == nullptr) { return all_.emplace_back(); }
    writer& reused = *std::exchange(free_, free_->next_free);
    reused = {};
    return reused;
  }
  /// Removes an owner. `has_ended(task)` says whether a task has ended, and `forget(task)` lets the
  /// runtime forget its failure.
  template <class HasEnded, class Forget>
  void release(writer* which, HasEnded const& has_ended, Forget const& forget) {
    if (which == nullptr || --which->owners != 0) { return; }
    drop(*which, has_ended, forget);
  }
  /// Removes a writer that never had an owner, or has lost the last one.
  template <class HasEnded, class Forget>
  void drop(writer& which, HasEnded const& has_ended, Forget const& forget) {
    if (which.task.runtime != 0) { open_.push_back(which.task); }
    which.next_free = std::exchange(free_, &which);
    forget_ended(has_ended, forget);
  }

 private:
  /// Forgets some tasks that have ended. Tasks usually end in the order of their submission, so it
  /// looks at the oldest ones first. If one of them does not end, it looks at all of them from time
  /// to time, so that the list stays shorter than about twice the number of open tasks.
  template <class HasEnded, class Forget>
  void forget_ended(HasEnded const& has_ended, Forget const& forget) {
    constexpr int max_steps = 2;
    for (int i = 0; i < max_steps && !open_.empty() && has_ended(open_.front()); ++i) {
      forget(open_.front());
      open_.pop_front();
    }
    if (open_.size() < limit_) { return; }
    std::deque<task_id> left;
    for (task_id const& each : open_) {
      if (has_ended(each)) {
        forget(each);
      } else {
        left.push_back(each);
      }
    }
    open_ = std::move(left);
    limit_ = 2 * open_.size() + first_limit;
  }

  static constexpr std::size_t first_limit = 1024;
  std::deque<writer> all_;
  writer* free_ = nullptr;
  std::deque<task_id> open_;  // tasks of dropped writers, which may not have ended
  std::size_t limit_ = first_limit;
};

}  // namespace flotilla::flows
