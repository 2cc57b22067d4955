#pragma once
// Order between tasks: the progress of predecessors, and the tasks that are parked on them.

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/lane/completion_board.hpp"
#include "dispatch/queue/device_inbound.hpp"
#include "dispatch/queue/shared_queue.hpp"
#include "dispatch/task/task_state.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The state lies in the slots; this class holds the protocol. A thread that launches a task stores
/// its mark, fences, and looks at the list of parked tasks. A thread that parks pushes its task,
/// fences, and looks at the mark. One of the two sees the other, takes the whole list, and gives
/// the tasks back to the devices that parked them. The end of a task closes its list
/// (tests/unit/dispatch/ordering/park_model_test.cpp).
class dependencies {
 public:
  dependencies(task_table const& tasks, completion_board const& board,
               failure_table const& failures, shared_queue& shared)
      : tasks_(tasks), board_(board), failures_(failures), shared_(shared) {}
  /// Adds the next device: its parked tasks go back to `inbound`. Only while the runtime starts.
  void add(device_inbound& inbound) { inbounds_.push_back(&inbound); }

  // ---- any thread ----

  /// How far the task has come. Cost: three loads while it is open.
  [[nodiscard]] task_state look(task_key key) const;
  /// Marks the task as demanded by a waiting thread, and every task that it is parked on, directly
  /// or through others. @return the last of them, which is not parked.
  slot_address propagate_demand(slot_address task) const noexcept;

  // ---- the holder of the lease of the device that has the task ----

  /// Parks `task` until `ahead` is launched or ends. @return false if that has happened already:
  /// look again.
  [[nodiscard]] bool park(slot_address task, task_key ahead);
  /// The task has joined an open batch of `device`, and tasks of that device that are parked on it
  /// can follow it into the batch. @param runnable  Receives those tasks.
  void resume_batched(slot_address task, unsigned device, std::vector<slot_address>& runnable);
  /// The tasks are in a stream, and `end` shows when they have ended. Releases the tasks that are
  /// parked on them. Afterwards the slots may be touched only to end the tasks.
  void mark_launched(std::span<slot_address const> tasks, end_mark end) noexcept;
  /// Releases the tasks that are parked on the task. Does nothing if the list belongs to another
  /// generation or is closed.
  void release_successors(slot_address task, std::uint64_t generation) noexcept;

 private:
  /// Takes the tasks that are parked on `task`, and leaves the list empty or closed. Calls
  /// `visit(parked)` for each.
  template <class Visit>
  void take_successors(slot_address task, std::uint64_t generation, std::uint32_t leave,
                       Visit&& visit);
  [[nodiscard]] unsigned device_of(slot_address task) const noexcept {
    return tasks_.at(task).device.load(std::memory_order_relaxed) - 1;
  }
  /// A parked shared task takes no share of its device: its predecessor may still have to be
  /// pulled.
  void release_share(slot_address task) noexcept;
  void acquire_share(slot_address task) noexcept;

  task_table const& tasks_;
  completion_board const& board_;
  failure_table const& failures_;
  shared_queue& shared_;
  std::vector<device_inbound*> inbounds_;  // by device
};

}  // namespace flotilla::dispatch
