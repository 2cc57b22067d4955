// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order between tasks: the progress of predecessors, and the tasks that are parked on them.

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/lane/completion_board.hpp"
#include "dispatch/ordering/host_tasks.hpp"
#include "dispatch/queue/device_inbound.hpp"
#include "dispatch/queue/shared_queue.hpp"
#include "dispatch/task/task_state.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Each slot holds the end mark of its task and the list of tasks that are parked on this task.
/// This class implements the protocol. A launching thread stores the mark of its task, executes a
/// fence, and then reads the list. A parking thread pushes its task into the list, executes a
/// fence, and then reads the mark. So at least one of the two threads sees the write of the other.
/// That thread takes the whole list and requeues the tasks at the devices that parked them. The end
/// of a task closes its list, unless no task was ever parked on it (generation_word). A test checks
/// the protocol (tests/unit/dispatch/ordering/park_model_test.cpp).
class dependencies {
 public:
  dependencies(task_table const& tasks, completion_board const& board,
               failure_table const& failures, shared_queue& shared, host_tasks const& hosts)
      : tasks_(tasks), board_(board), failures_(failures), shared_(shared), hosts_(hosts) {}
  /// Adds the next device. Tasks that this device has parked go to `inbound` when they are
  /// released. Call it only while the runtime starts.
  void add(device_inbound& inbound) { inbounds_.push_back(&inbound); }

  // ---- any thread ----

  /// Returns the task's progress. Cost: three loads while the task is open.
  [[nodiscard]] task_state look(task_key key) const;
  /// Marks the task as demanded by a waiting thread. If the task is parked on another task, marks
  /// that task as well, and so on. A host task is followed by a predecessor that has not ended.
  /// Returns the last task of this chain, which is not parked, or is a host task whose predecessors
  /// have ended.
  slot_address propagate_demand(slot_address task) const noexcept;

  // ---- the holder of the lease of the device that has the task ----

  /// Parks `task` until `ahead` is launched or has ended. Returns false if `ahead` is already
  /// launched or has ended. In that case the caller must `look` at `ahead` again.
  [[nodiscard]] bool park(slot_address task, task_key ahead);
  /// Lists of tasks, by device index. Null, or no entry: tasks of the device are not wanted.
  using lists_by_device = std::span<std::vector<slot_address>* const>;
  /// Call it after `task` has joined an open batch. Appends the tasks that are parked on `task` to
  /// the lists of their devices, because they can join the same batch or follow it.
  void resume_batched(slot_address task, lists_by_device runnable);
  /// Records that the tasks are in a stream and that `end` marks their end. Releases the tasks that
  /// are parked on these tasks. Afterwards only the thread that ends the tasks may use their slots.
  void mark_launched(std::span<slot_address const> tasks, end_mark end) noexcept;
  /// Takes back `mark_launched`, because the device was lost before the task had ended. Call it
  /// before the number of the task's mark is reached. Afterwards the task may be started again, or
  /// end. Its list of parked tasks may be closed: `park` opens it again.
  void take_back_launch(slot_address task) noexcept;
  /// Releases the tasks that are parked on `task`, and closes the list. Does nothing if the list
  /// belongs to another generation or is already closed.
  void release_successors(slot_address task, std::uint64_t generation) noexcept;

 private:
  /// Takes the list of tasks that are parked on `task`, stores `leave` in its place (none or
  /// closed), and calls `visit(parked)` for each task of the list.
  template <class Visit>
  void take_successors(slot_address task, std::uint64_t generation, std::uint32_t leave,
                       Visit&& visit);
  [[nodiscard]] unsigned device_of(slot_address task) const noexcept {
    return tasks_.at(task).device.load(std::memory_order_relaxed) - 1;
  }
  /// A parked task from the shared queue does not count in its device's share (device_share).
  /// Otherwise parked tasks could fill the share, and the device could not pull their predecessors.
  void release_share(slot_address task) noexcept;
  void acquire_share(slot_address task) noexcept;

  task_table const& tasks_;
  completion_board const& board_;
  failure_table const& failures_;
  shared_queue& shared_;
  host_tasks const& hosts_;
  std::vector<device_inbound*> inbounds_;  // by device index
};

}  // namespace flotilla::dispatch
