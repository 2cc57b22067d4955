// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks that will not run, and end only after their predecessors have ended.

#include <memory>
#include <utility>
#include <vector>

#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/recording/replayed_part.hpp"

namespace flotilla::dispatch {

/// A task that does not run usually ends at once, even if some of its predecessors still run. A
/// task of a flow must not: the next task that uses the same memory has only this task as its
/// predecessor, and must not run before the predecessors of this task have ended
/// (tests/unit/flows/replica_model_test.cpp). Nor must a part of a replay: the last part stands for
/// the whole replay, and the changes of this replay are for the next one. If they were made before
/// this replay ends, an earlier replay could still begin, and would run with them.
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
      finish({task, std::move(why)});
    }
  }
  /// Ends the tasks whose predecessors have ended. @return whether any task has ended.
  bool poll() {
    // In the order in which they came, so that one call ends a whole chain.
    polled_.clear();  // not empty if the last call threw std::bad_alloc
    polled_.swap(waiting_);
    for (waiting_task& each : polled_) { end(each.task, std::move(each.why)); }
    return waiting_.size() != polled_.size();
  }
  /// Ends all tasks. Call this if the device can run no more tasks, so that nothing needs the
  /// changes of replays.
  void end_all() {
    for (waiting_task& each : std::exchange(waiting_, {})) {
      give_up_replay(each.task, each.why);
      shared_.ends.end(each.task, std::move(each.why));
    }
  }
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

 private:
  struct waiting_task {
    slot_address task;
    std::shared_ptr<failure const> why;
  };

  void finish(waiting_task done) {
    slot& one = shared_.tasks.at(done.task);
    if (one.kind == task_kind::recorded) {
      replayed_part& replay = held_in<replayed_part>(one);
      shared_.recordings.get(replay.part)->defer(std::exchange(replay.changes, change_lists::none));
    }
    give_up_replay(done.task, done.why);
    shared_.ends.end(done.task, std::move(done.why));
  }

  /// Lets the other parts of the replay continue, if the task is a part that others wait for.
  void give_up_replay(slot_address task, std::shared_ptr<failure const> const& why) noexcept {
    slot& one = shared_.tasks.at(task);
    if (one.kind != task_kind::recorded) { return; }
    replayed_part const& replay = held_in<replayed_part>(one);
    auto const part = shared_.recordings.get(replay.part);
    if (part == nullptr || part->group() == nullptr) { return; }
    part->group()->give_up(part->number_in_group(), replay.replay, why);
    shared_.turns.handled(*part->group(), part->number_in_group(), replay.replay);
  }

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
  std::vector<waiting_task> polled_;  // scratch memory
};

}  // namespace flotilla::dispatch
