// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks that will not run, and end only after their predecessors have ended.

#include <memory>
#include <utility>
#include <vector>

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A task that does not run usually ends at once, even if some of its predecessors still run. A
/// task of a flow must not: the next task that uses the same memory has only this task as its
/// predecessor, and must not run before the predecessors of this task have ended
/// (tests/unit/flows/replica_model_test.cpp). Nor must a part of a replay: the last part stands for
/// the whole replay.
///
/// Threads: only the holder of the device's lease.
class late_ends {
 public:
  explicit late_ends(runtime_parts const& shared) noexcept : shared_(shared) {}

  /// Ends the task with the failure `why`, at once or in a later call of `poll`.
  void end(slot_address task, std::shared_ptr<failure const> why) {
    if (must_wait(task)) {
      waiting_.push_back({task, std::move(why)});
    } else {
      shared_.ends.end(task, std::move(why));
    }
  }
  /// Ends the tasks whose predecessors have ended. @return whether any task has ended.
  bool poll() {
    return std::erase_if(waiting_, [this](waiting_task& each) {
             if (must_wait(each.task)) { return false; }
             shared_.ends.end(each.task, std::move(each.why));
             return true;
           }) != 0;
  }
  /// Ends all tasks. Call this if the device can run no more tasks.
  void end_all() {
    for (waiting_task& each : std::exchange(waiting_, {})) {
      shared_.ends.end(each.task, std::move(each.why));
    }
  }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

 private:
  struct waiting_task {
    slot_address task;
    std::shared_ptr<failure const> why;
  };

  /// Also lets the task look as if it were parked on the predecessor for which it waits. So threads
  /// that wait for the task help with that predecessor (dependencies::propagate_demand).
  [[nodiscard]] bool must_wait(slot_address task) const {
    slot& one = shared_.tasks.at(task);
    generation_word const word{one.generation.load(std::memory_order_relaxed)};
    if (!word.ends_late()) { return false; }
    one.parked_on.store(0, std::memory_order_relaxed);
    if (shared_.faults.is_poisoned()) { return false; }
    for (std::size_t i = 0; i < one.dependencies; ++i) {
      task_key const ahead = shared_.tasks.dependency(task, i);
      if (!ahead.is_task()) { continue; }  // a turn, or nothing
      task_state::states const state = shared_.order.look(ahead).state;
      if (state == task_state::states::open || state == task_state::states::launched) {
        one.parked_on.store(ahead.slot + 1, std::memory_order_relaxed);
        return true;
      }
    }
    return false;
  }

  runtime_parts const& shared_;
  std::vector<waiting_task> waiting_;
};

}  // namespace flotilla::dispatch
